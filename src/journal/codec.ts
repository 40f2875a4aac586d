/** Records to text and back. A record of a newer version or a damaged one is refused with its path, and left alone. */
import { RECORD_VERSION } from "../core/index.ts";

export type JournalErrorCode = "newer-version" | "damaged" | "copied" | "not-owner" | "missing";

/** Something in the job folder can't be used. The message names the file and says what to do. */
export class JournalError extends Error {
  readonly code: JournalErrorCode;
  readonly path: string;
  constructor(code: JournalErrorCode, path: string, message: string) {
    super(message);
    this.name = "JournalError";
    this.code = code;
    this.path = path;
  }
}

/** One line of JSON with a newline: readable by `cat`, whole or not at all. */
export function encode(record: object): string {
  return `${JSON.stringify(record)}\n`;
}

/** Throws JournalError: `damaged` for text that is no record, `newer-version` for one this version can't know. */
export function decode<T>(text: string, path: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new JournalError(
      "damaged",
      path,
      `${path} is damaged (${text.length} bytes, not JSON): put it back from a backup`,
    );
  }
  if (typeof value !== "object" || value === null || !("version" in value) || typeof value.version !== "number")
    throw new JournalError("damaged", path, `${path} is no record of stint: move it away`);
  if (value.version > RECORD_VERSION)
    throw new JournalError(
      "newer-version",
      path,
      `${path} was written by a newer stint (record version ${value.version}, this one knows ${RECORD_VERSION}): use that one`,
    );
  return value as T;
}
