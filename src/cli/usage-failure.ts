/** What went wrong while usage was read, as the command line reports it. */
import { StintError, type StintErrorCode } from "../chain/index.ts";
import { UsageError, type UsageErrorCode } from "../usage/index.ts";

const CODES: Readonly<Record<UsageErrorCode, StintErrorCode>> = {
  usage: "usage",
  file: "usage",
  "no-such-job": "no-such-job",
  "not-reachable": "unreachable",
  "bad-answer": "unreachable",
  refused: "unreachable",
  "refused-sql": "usage",
  "missing-package": "internal",
};

/** Any other error stays as it is. */
export function usageFailure(error: unknown): unknown {
  if (!(error instanceof UsageError)) return error;
  const { code, message, hint } = error;
  return new StintError(CODES[code], message, { ...(hint === null ? {} : { hint }), cause: error });
}
