/**
 * Readers of /proc. All of them are synchronous (a file of /proc is answered by the kernel alone and cannot hang as a disk
 * can; only `environ` and `cmdline` of a process that stands in uninterruptible sleep may take long), share one
 * buffer, and answer null where the process is gone or may not be looked at.
 */
import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { endianness } from "node:os";

export interface ProcessStat {
  readonly pid: number;
  /** The kernel's name of it, at most 15 bytes, any bytes. */
  readonly comm: string;
  /** One letter: R, S, D, T (stopped), t (traced), Z (zombie), X (dead), I … */
  readonly state: string;
  readonly parent: number;
  readonly processGroup: number;
  readonly session: number;
  /** Clock ticks, all threads, also those that have ended. */
  readonly userTicks: number;
  readonly systemTicks: number;
  /** Clock ticks of children that have ended and been waited for, with theirs. */
  readonly childUserTicks: number;
  readonly childSystemTicks: number;
  readonly threads: number;
  /** Clock ticks from boot to its start. */
  readonly startTicks: number;
  /** 0 for a kernel thread and for a zombie. */
  readonly virtualBytes: number;
  readonly residentBytes: number;
}

export interface ProcessIo {
  /** Bytes that storage had to deliver, and that were sent to it; with those of children waited for. */
  readonly readBytes: number;
  readonly writtenBytes: number;
}

export function readStat(pid: number): ProcessStat | null {
  const length = readProcFile(`/proc/${pid}/stat`, true);
  return length <= 0 ? null : parseStat(buffer.toString("latin1", 0, length));
}

/** Fields as in proc(5). The name may hold blanks, brackets and line ends: the last `)` closes it. */
export function parseStat(text: string): ProcessStat | null {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  if (open < 0 || close < 0) return null;
  const fields = text.slice(close + 2).split(" ");
  // fields[0] is field 3 of the manual page.
  const field = (number: number) => Number(fields[number - 3]);
  const stat: ProcessStat = {
    pid: Number.parseInt(text, 10),
    comm: text.slice(open + 1, close),
    state: fields[0] ?? "",
    parent: field(4),
    processGroup: field(5),
    session: field(6),
    userTicks: field(14),
    systemTicks: field(15),
    childUserTicks: field(16),
    childSystemTicks: field(17),
    threads: field(20),
    startTicks: field(22),
    virtualBytes: field(23),
    residentBytes: field(24) * pageBytes(),
  };
  return Number.isFinite(stat.pid) && Number.isFinite(stat.residentBytes) ? stat : null;
}

/**
 * It has ended: it runs no code and holds no file. A `Z` with more than one thread lives on in its other threads (the main
 * one has ended).
 */
export function hasEnded(stat: ProcessStat): boolean {
  return stat.state === "X" || stat.state === "x" || (stat.state === "Z" && stat.threads <= 1);
}

/** Children of all threads of a process, zombies too; null where it is gone or the kernel keeps no such list. */
export function readChildren(stat: { readonly pid: number; readonly threads: number }): readonly number[] | null {
  // Almost all processes have one thread: spare them the listing.
  const threads = stat.threads === 1 ? [String(stat.pid)] : namesIn(`/proc/${stat.pid}/task`);
  if (threads === null) return null;
  let found: number[] | null = null;
  for (const thread of threads) {
    const length = readProcFile(`/proc/${stat.pid}/task/${thread}/children`);
    if (length < 0) continue;
    found ??= [];
    for (const word of buffer.toString("latin1", 0, length).split(" ")) if (word !== "") found.push(Number(word));
  }
  return found;
}

let childLists: boolean | null = null;

/** Whether this kernel has `task/TID/children` (CONFIG_PROC_CHILDREN). */
export function hasChildLists(): boolean {
  childLists ??= readProcFile(`/proc/${process.pid}/task/${process.pid}/children`) >= 0;
  return childLists;
}

/** Pids of all processes that can be seen. */
export function readPids(): readonly number[] {
  return (namesIn("/proc") ?? []).filter((name) => /^[0-9]+$/.test(name)).map(Number);
}

/**
 * Where one variable of the environment that a process was started with is read: its value, or null when it is not there.
 * `unreadable` when the process is gone, belongs to somebody else, or is a kernel thread. A process that rewrote its title
 * may have overwritten its environment: it then reads as not there.
 */
export function readEnvironment(pid: number): ((name: string) => string | null) | "unreadable" {
  const length = readProcFile(`/proc/${pid}/environ`);
  if (length < 0) return "unreadable";
  // Copied, since the buffer is shared; latin1 keeps every byte apart, so that the comparison is exact.
  const text = `\0${buffer.toString("latin1", 0, length)}`;
  return (name) => {
    const key = `\0${Buffer.from(name).toString("latin1")}=`;
    const at = text.indexOf(key);
    if (at < 0) return null;
    const end = text.indexOf("\0", at + key.length);
    return Buffer.from(text.slice(at + key.length, end < 0 ? undefined : end), "latin1").toString();
  };
}

/** Whether a process shows any environment now. */
export function showsEnvironment(pid: number): boolean {
  return readProcFile(`/proc/${pid}/environ`) > 0;
}

export function readCommandLine(pid: number): readonly string[] | null {
  const length = readProcFile(`/proc/${pid}/cmdline`);
  if (length < 0) return null;
  const text = buffer.toString("utf8", 0, length);
  return text === "" ? [] : text.replace(/\0$/, "").split("\0");
}

/** The text of /proc/PID/cgroup. */
export function readCgroupText(pid: number | "self"): string | null {
  return readSmallFile(`/proc/${pid}/cgroup`);
}

/** Null also where another user's process may not be looked at. */
export function readIo(pid: number): ProcessIo | null {
  const length = readProcFile(`/proc/${pid}/io`, true);
  if (length <= 0) return null;
  const text = buffer.toString("latin1", 0, length);
  const read = /^read_bytes: (\d+)$/m.exec(text)?.[1];
  const written = /^write_bytes: (\d+)$/m.exec(text)?.[1];
  return read === undefined || written === undefined
    ? null
    : { readBytes: Number(read), writtenBytes: Number(written) };
}

/** A file of /proc or /sys as text; null when it cannot be read. */
export function readSmallFile(path: string): string | null {
  const length = readProcFile(path);
  return length < 0 ? null : buffer.toString("utf8", 0, length);
}

/** Clock ticks per second of all times in /proc: from the auxiliary vector, 100 where that cannot be read. */
export function clockTicksPerSecond(): number {
  return auxiliary().clockTicks;
}

/** Bytes of a memory page. */
export function pageBytes(): number {
  return auxiliary().pageBytes;
}

let known: { readonly clockTicks: number; readonly pageBytes: number } | null = null;

function auxiliary(): { readonly clockTicks: number; readonly pageBytes: number } {
  known ??= parseAuxiliary(readBytes("/proc/self/auxv"), process.arch, endianness());
  return known;
}

/** Pairs of machine words (key, value): AT_PAGESZ 6, AT_CLKTCK 17. */
export function parseAuxiliary(
  bytes: Buffer,
  arch: string,
  endian: "LE" | "BE",
): { readonly clockTicks: number; readonly pageBytes: number } {
  const wordBytes = arch === "arm" || arch === "ia32" || arch === "mipsel" ? 4 : 8;
  const word = (at: number) => {
    if (wordBytes === 4) return endian === "LE" ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
    return Number(endian === "LE" ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at));
  };
  let clockTicks = 100;
  let pageSize = 4096;
  for (let at = 0; at + 2 * wordBytes <= bytes.length; at += 2 * wordBytes) {
    const key = word(at);
    if (key === 6) pageSize = word(at + wordBytes);
    if (key === 17) clockTicks = word(at + wordBytes);
  }
  return { clockTicks, pageBytes: pageSize };
}

function readBytes(path: string): Buffer {
  const length = readProcFile(path);
  return Buffer.from(buffer.subarray(0, Math.max(0, length)));
}

let buffer = Buffer.allocUnsafe(16 * 1024);

/**
 * Reads a whole file into the shared buffer, which grows as needed; the number of bytes, or -1 when it cannot be read.
 * `atOnce`: the kernel hands this small file out in one piece, which spares the read that only finds the end.
 */
function readProcFile(path: string, atOnce = false): number {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    // Gone, not ours to see, or not known to this kernel: all the same to the caller.
    return -1;
  }
  try {
    for (let length = 0; ; ) {
      if (length === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
      const read = readSync(file, buffer, length, buffer.length - length, null);
      if (read === 0) return length;
      length += read;
      if (atOnce && length < buffer.length) return length;
    }
  } catch {
    // The process ended between open and read (ESRCH), or may not be looked at (EACCES comes only now for `io`).
    return -1;
  } finally {
    closeSync(file);
  }
}

function namesIn(path: string): readonly string[] | null {
  try {
    return readdirSync(path);
  } catch {
    // The process is gone.
    return null;
  }
}
