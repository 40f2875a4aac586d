/** What goes wrong in the rooms below, as the errors of usage. */
import { IrisError, type IrisErrorCode } from "../iris/index.ts";
import { QueryError, type QueryErrorCode } from "../query/index.ts";
import { UsageError, type UsageErrorCode } from "./source.ts";

const OF_IRIS: Readonly<Record<IrisErrorCode, UsageErrorCode>> = {
  usage: "usage",
  "not-reachable": "not-reachable",
  unauthenticated: "refused",
  forbidden: "refused",
  "not-found": "bad-answer",
  busy: "not-reachable",
  refused: "refused",
  deadline: "not-reachable",
  "too-large": "bad-answer",
  "bad-answer": "bad-answer",
};

/** Where the statement is a person's, and where it is ours over a person's files. */
export type QueryFailure = (code: QueryErrorCode) => UsageErrorCode;

export const ofStatement: QueryFailure = (code) =>
  code === "missing-package" ? code : code === "not-a-select" ? "usage" : "refused-sql";

export const ofFiles: QueryFailure = (code) => (code === "missing-package" ? code : "file");

/** Waits for an answer. Throws UsageError for what the rooms below throw, and everything else as it is. */
export async function asUsage<T>(answer: Promise<T>, ofQuery: QueryFailure = ofStatement): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw usageErrorOf(error, ofQuery);
  }
}

export function usageErrorOf(error: unknown, ofQuery: QueryFailure = ofStatement): unknown {
  if (!(error instanceof IrisError || error instanceof QueryError)) return error;
  const { message, hint } = error;
  const code = error instanceof IrisError ? OF_IRIS[error.code] : ofQuery(error.code);
  return new UsageError(code, message, { ...(hint === null ? {} : { hint }), cause: error });
}
