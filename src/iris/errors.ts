/** What an Iris controller answers when it does not answer the question. */
export type IrisErrorCode =
  /** The address or an option cannot be used. */
  | "usage"
  /** Nobody is there, it does not answer in time, or it says that it cannot serve now. */
  | "not-reachable"
  | "unauthenticated"
  | "forbidden"
  /** No such path: it is no controller, or one of another version. */
  | "not-found"
  /** It says that it is asked too often. */
  | "busy"
  /** It understood the statement, and refused it or failed at it. */
  | "refused"
  /** It gave up on the statement after its own time limit, or its proxy did: a smaller question may do. */
  | "deadline"
  /** The answer would be longer than it, or we, allow: a smaller question may do. */
  | "too-large"
  /** An answer that cannot be used: another kind of content, garbage, cut off. */
  | "bad-answer";

export class IrisError extends Error {
  override readonly name = "IrisError";
  readonly code: IrisErrorCode;
  /** HTTP's; null: there was no answer. */
  readonly status: number | null;
  /** What to do next. */
  readonly hint: string | null;
  /** Asked again a little later it may do. */
  readonly retryAfterMs: number | null;

  constructor(
    code: IrisErrorCode,
    message: string,
    more: {
      readonly status?: number;
      readonly hint?: string;
      readonly retryAfterMs?: number;
      readonly cause?: unknown;
    } = {},
  ) {
    super(oneLine(message), more.cause === undefined ? {} : { cause: more.cause });
    this.code = code;
    this.status = more.status ?? null;
    this.hint = more.hint ?? null;
    this.retryAfterMs = more.retryAfterMs ?? null;
  }
}

const MOST_CHARACTERS = 400;

/** What a server says may hold anything: a trace over many lines, control characters. */
export function oneLine(text: string): string {
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, " ").trim();
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line;
}
