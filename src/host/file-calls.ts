import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { link, mkdir, open, readdir, readFile, rename, stat, unlink } from "node:fs/promises";

type Later<T> = T | Promise<T>;

/**
 * The system calls that a durable folder is made of, in two forms: on the thread pool (a hung file system stops only the
 * one who waits) and blocking (a third of the time per file, for commands that read thousands). Errors are the system's own.
 */
export interface FileCalls {
  readText(path: string): Later<string>;
  names(path: string): Later<readonly string[]>;
  /** open with the flags (`wx`, `a`) and mode 0600, write all, fsync, close. The descriptor is closed on every way out. */
  writeSynced(path: string, flags: "wx" | "a", content: string | Uint8Array): Later<void>;
  /** Makes names in the folder durable. */
  syncFolder(path: string): Later<void>;
  link(from: string, to: string): Later<void>;
  rename(from: string, to: string): Later<void>;
  unlink(path: string): Later<void>;
  /** mkdir of one folder with mode 0700. */
  makeFolder(path: string): Later<void>;
  inode(path: string): Later<bigint>;
  /** Inode and ctime, of the opened file: a look by path alone may be answered from what an NFS client has kept for a minute. */
  stamp(path: string): Later<string>;
}

export const pooledCalls: FileCalls = {
  readText: (path) => readFile(path, "utf8"),
  names: (path) => readdir(path),
  async writeSynced(path, flags, content) {
    const file = await open(path, flags, 0o600);
    try {
      const bytes = Buffer.from(content);
      // One write call where the file system takes it whole, so that lines appended by several processes do not mix.
      for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done)).bytesWritten;
      await file.sync();
    } finally {
      await file.close();
    }
  },
  async syncFolder(path) {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  },
  link,
  rename,
  unlink,
  makeFolder: (path) => mkdir(path, { mode: 0o700 }),
  inode: async (path) => (await stat(path, { bigint: true })).ino,
  async stamp(path) {
    const file = await open(path, "r");
    try {
      return stampOf(await file.stat({ bigint: true }));
    } finally {
      await file.close();
    }
  },
};

/** One object for all calls: Node takes its fast path, and nothing is made anew for thousands of files. */
const READ_TEXT = { encoding: "utf8", flag: "r" } as const;

export const blockingCalls: FileCalls = {
  readText: (path) => readFileSync(path, READ_TEXT),
  names: (path) => readdirSync(path),
  writeSynced(path, flags, content) {
    const file = openSync(path, flags, 0o600);
    try {
      const bytes = Buffer.from(content);
      for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  },
  syncFolder(path) {
    const folder = openSync(path, "r");
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  },
  link: linkSync,
  rename: renameSync,
  unlink: unlinkSync,
  makeFolder: (path) => mkdirSync(path, { mode: 0o700 }),
  inode: (path) => statSync(path, { bigint: true }).ino,
  stamp(path) {
    const file = openSync(path, "r");
    try {
      return stampOf(fstatSync(file, { bigint: true }));
    } finally {
      closeSync(file);
    }
  },
};

function stampOf({ ino, ctimeNs }: { readonly ino: bigint; readonly ctimeNs: bigint }): string {
  return `${ino} ${ctimeNs}`;
}
