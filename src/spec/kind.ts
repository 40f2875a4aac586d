/** What a kind of value is: how it looks in YAML, and how it is read from any source. */

export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  /** One line without the setting's name: the caller puts the source and the name before it. */
  | { readonly ok: false; readonly error: string };

/** A value as its source has it, before it means anything. Numbers in YAML stay the text that was written. */
export type Raw =
  | { readonly form: "text"; readonly text: string }
  | { readonly form: "list"; readonly items: readonly string[] }
  | { readonly form: "map"; readonly entries: Readonly<Record<string, string>> };

/** The form of a value in YAML. Schema and JSON Schema are made from it. */
export type Shape =
  | { readonly is: "text" }
  | { readonly is: "number"; readonly whole: boolean; readonly minimum: number; readonly above?: boolean }
  | { readonly is: "choice"; readonly values: readonly string[] }
  | { readonly is: "list"; readonly of: Shape }
  | { readonly is: "map"; readonly of: Shape }
  /** A map with exactly one of these keys and a text behind it. */
  | { readonly is: "one-key"; readonly keys: readonly string[] }
  | { readonly is: "any-of"; readonly shapes: readonly Shape[] };

export interface Kind<T> {
  /** Completes "expected …", with an example. */
  readonly expected: string;
  /** In help, behind the flag. */
  readonly placeholder: string;
  readonly shape: Shape;
  read(raw: Raw): Answer<T>;
}

export const TEXT: Shape = { is: "text" };
export const TEXT_OR_NUMBER: Shape = {
  is: "any-of",
  shapes: [TEXT, { is: "number", whole: false, minimum: Number.NEGATIVE_INFINITY }],
};

export function fine<T>(value: T): Answer<T> {
  return { ok: true, value };
}

export function wrong(error: string): { readonly ok: false; readonly error: string } {
  return { ok: false, error };
}

/** A kind whose every source gives one text. */
export function scalar<T>(kind: Omit<Kind<T>, "read"> & { readText(text: string): Answer<T> }): Kind<T> {
  return {
    expected: kind.expected,
    placeholder: kind.placeholder,
    shape: kind.shape,
    read: (raw) => (raw.form === "text" ? kind.readText(raw.text) : wrong(`expected ${kind.expected}`)),
  };
}
