/** One option of a command line, for any command. */
export interface FlagOption {
  /** What it sets; several options may set the same. */
  readonly key: string;
  /** All spellings, the first long one leads: `["--limit", "--time", "-t"]`. */
  readonly flags: readonly string[];
  /** `list`: may be repeated, every value counts. `nothing`: on, or off as `--no-…`. */
  readonly takes: "value" | "list" | "nothing";
  /** Of a `list` with `handOnAs`: it stands without a value, `always` or where none is joined to it by `=`. */
  readonly bare?: "always" | "allowed";
  /** In help, behind the flag; unused where nothing is taken. */
  readonly placeholder?: string;
  /** One line with unit and default; empty: not shown one by one. */
  readonly help: string;
  /** Heading in help. */
  readonly group?: string;
  /** The value is kept as `<this>=<value>`, to be handed on to another program. */
  readonly handOnAs?: string;
}

/** What a command line gave for one key. */
export interface FlagValue {
  /** As it was typed, e.g. `-t`; the last one where it was repeated. */
  readonly flag: string;
  /** In order; of a `value` option only the last one counts. Empty for `nothing`. */
  readonly values: readonly string[];
  /** False only for `--no-…`. */
  readonly on: boolean;
}

export type FlagValues = ReadonlyMap<string, FlagValue>;
