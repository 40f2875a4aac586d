/** Why a query gave no answer. */
export type QueryErrorCode =
  /** Not one statement, or none that only reads. */
  | "not-a-select"
  /** The engine refuses it: its words say why. */
  | "refused"
  | "interrupted"
  | "memory"
  | "too-many-rows"
  | "missing-package";

export class QueryError extends Error {
  override readonly name = "QueryError";
  readonly code: QueryErrorCode;
  readonly hint: string | null;

  constructor(code: QueryErrorCode, message: string, more: { readonly hint?: string; readonly cause?: unknown } = {}) {
    super(message.replace(/\s*\n\s*/g, " ").trim(), more.cause === undefined ? {} : { cause: more.cause });
    this.code = code;
    this.hint = more.hint ?? null;
  }
}
