/**
 * A file operation that the file system refused: the system's code, the path a person knows (never a temporary name), and
 * a message of one line that says what to do next.
 */
export class FolderError extends Error {
  override readonly name = "FolderError";
  /** The system's word, e.g. `ENOSPC`; `EMPTY` for a record whose writer died before it wrote. */
  readonly code: string;
  readonly path: string;

  constructor(action: string, path: string, cause: unknown) {
    const code = errorCode(cause) ?? "EUNKNOWN";
    const known = KNOWN[code] ?? { what: systemWords(cause), next: "" };
    super(`cannot ${action} ${path}: ${known.what} (${code})${known.next === "" ? "" : `; ${known.next}`}`, { cause });
    this.code = code;
    this.path = path;
  }
}

/** True when the storage has no room for another file: disk, inodes or quota. */
export function isOutOfSpace(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENOSPC" || code === "EDQUOT";
}

/** True when the file is not there: a name below something that is no folder is as absent as one in a folder that is not there. */
export function isAbsent(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

/** The system's word of an error (`ENOENT` …), or null where it carries none. */
export function errorCode(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}

const KNOWN: Readonly<Record<string, { readonly what: string; readonly next: string }>> = {
  ENOSPC: { what: "no space left on the file system", next: "free some space there, then try again" },
  EDQUOT: { what: "the disk quota is used up", next: "free some space there, then try again" },
  EACCES: { what: "permission denied", next: "check who owns it and its mode" },
  EPERM: { what: "operation not permitted", next: "check who owns it and its mode" },
  EROFS: {
    what: "the file system is mounted read-only",
    next: "use a folder that can be written, or have it remounted",
  },
  EIO: { what: "the storage reports an input/output error", next: "nothing here can mend that: tell whoever runs it" },
  ESTALE: { what: "the file server no longer knows it", next: "try again; if it stays, have the folder remounted" },
  ENOENT: { what: "its folder is not there", next: "make it, or check the path" },
  ENOTDIR: { what: "a part of the path is not a folder", next: "check the path" },
  EISDIR: { what: "it is a folder", next: "check the path" },
  EMFILE: { what: "too many open files in this process", next: "raise `ulimit -n`" },
  ENFILE: { what: "too many open files on this machine", next: "try again later" },
  ENAMETOOLONG: { what: "the name is too long for the file system", next: "use a shorter one" },
  EEXIST: { what: "it is there and cannot be read back", next: "try again" },
  EMPTY: { what: "it is empty: its writer ended before it wrote", next: "remove it if nobody is writing it now" },
};

function systemWords(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  // Node writes `CODE: words, call 'path'`: the words are what a person needs, and the path may be a temporary one.
  return (message.split("\n")[0] ?? "").replace(/^[A-Z0-9]+: /, "").replace(/, [a-z_]+(?: '.*)?$/, "");
}
