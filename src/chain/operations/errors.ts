/** Errors that a person or a program can act on: one line, a code, and the exit status of the command line. */
import { errorCode, FolderError } from "../../host/index.ts";
import { JournalError } from "../../journal/index.ts";

/**
 * Exit status of each code (design §7). 0 is success; 130 is a second Ctrl-C and belongs to the command line alone.
 * 1 failed, held, stranded or cancelled · 2 usage · 3 no such job · 4 not reachable · 5 someone else holds it · 75 not finished.
 */
export const EXIT_STATUS = {
  /** A bug, or an error nobody foresaw. */
  internal: 1,
  /** The file system refused: permission, space, I/O. */
  storage: 1,
  /** A record that this version cannot use: newer, damaged or missing. */
  record: 1,
  /** The scheduler said a clear and lasting no. */
  "refused-by-scheduler": 1,
  /** The chain ended without being finished, or waits for a person. */
  ended: 1,
  usage: 2,
  /** The site file cannot be used. */
  site: 2,
  /** The same name with another command. */
  "command-differs": 2,
  /** The checkpoint cannot be used as it is. */
  checkpoint: 2,
  "no-such-job": 3,
  "no-such-attempt": 3,
  unreachable: 4,
  /** The checkpoint belongs to another job. */
  "checkpoint-owned": 5,
  /** The job folder is a copy. */
  copied: 5,
  /** Another user's job. */
  "not-owner": 5,
  /** Something of it still runs. */
  "still-running": 5,
  "not-finished": 75,
} as const;

export type StintErrorCode = keyof typeof EXIT_STATUS;

/** What every operation throws. `message` is one line that says what to do; `hint` is a second one where there is more. */
export class StintError extends Error {
  override readonly name = "StintError";
  readonly code: StintErrorCode;
  readonly exitStatus: number;
  readonly hint: string | null;

  constructor(
    code: StintErrorCode,
    message: string,
    options: { readonly hint?: string; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.exitStatus = EXIT_STATUS[code];
    this.hint = options.hint ?? null;
  }
}

/** Any error as one clear line. Never throws. */
export function toStintError(error: unknown): StintError {
  if (error instanceof StintError) return error;
  if (error instanceof JournalError) {
    const code = error.code === "copied" ? "copied" : error.code === "not-owner" ? "not-owner" : "record";
    return new StintError(code, error.message, { cause: error });
  }
  if (error instanceof FolderError) return new StintError("storage", error.message, { cause: error });
  // Slurm's part is loaded only where it is needed, so that its errors are known by name here.
  if (error instanceof Error && error.name === "SlurmError")
    return new StintError("unreachable", error.message, {
      cause: error,
      hint: "what was asked for is on file; try again when Slurm answers",
    });
  const message = error instanceof Error ? error.message : String(error);
  const line = message.split("\n")[0] ?? "unknown error";
  // An error of the system carries its own words and is no bug of ours.
  if (errorCode(error) !== null) return new StintError("storage", line, { cause: error });
  return new StintError("internal", line, { cause: error, hint: "see the whole of it with STINT_DEBUG=1" });
}
