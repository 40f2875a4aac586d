/** A spec file (`stint.yaml`) into raw values, each with its place. What they mean is read when the spec is resolved. */
import type { Raw } from "./kind.ts";

export interface SpecFile {
  /** As it is shown in origins and errors. */
  readonly name: string;
  /** By the setting's key. */
  readonly values: ReadonlyMap<string, FileValue>;
}

export interface FileValue {
  readonly raw: Raw;
  /** `stint.yaml:4:8`. */
  readonly at: string;
}

export type ParsedSpecFile =
  | { readonly kind: "spec"; readonly file: SpecFile }
  /** One line each, beginning with `name:line:column`. */
  | { readonly kind: "errors"; readonly errors: readonly string[] };

/** Reads YAML text. Unknown and repeated keys and wrong types are refused. The YAML library is loaded only now. */
export async function parseSpecFile(text: string, name: string): Promise<ParsedSpecFile> {
  const { readSpecText } = await import("./spec-text.ts");
  return readSpecText(text, name);
}
