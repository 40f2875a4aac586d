/** JSON Schema of the spec file, for editors. Only the build and the tests load this: the converter is no dependency. */
import { toJsonSchema } from "@valibot/to-json-schema";
import { specSchema } from "./spec-schema.ts";

/** JSON Schema (draft 7) made from the same source as the check of a spec file. */
export function jsonSchema(): Readonly<Record<string, unknown>> {
  return { ...toJsonSchema(specSchema()), title: "stint.yaml" };
}
