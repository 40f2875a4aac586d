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
  /** What it is called there, where that is not the setting's key: `--time`. */
  readonly as?: string;
}

export type ParsedSpecFile =
  | { readonly kind: "spec"; readonly file: SpecFile }
  /** One line each, beginning with `name:line:column` where it is about one place. */
  | { readonly kind: "errors"; readonly errors: readonly string[] };

/** Most that a spec file may have, in bytes. */
export const MOST_SPEC_BYTES = 1024 * 1024;

/** Reads YAML text. Unknown and repeated keys and wrong types are refused. The YAML library is loaded only now. */
export async function parseSpecFile(text: string, name: string): Promise<ParsedSpecFile> {
  if (Buffer.byteLength(text) > MOST_SPEC_BYTES)
    return { kind: "errors", errors: [`${name} is larger than 1 MiB, which is the most that a spec file may have`] };
  const { readSpecText } = await import("./spec-text.ts");
  return readSpecText(text, name);
}
