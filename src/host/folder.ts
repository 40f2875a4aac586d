/**
 * The few file operations that the job folder needs. `createOnce` is the only way in which a shared record comes into
 * being (design law 2): a unique, fsynced file is linked to the name, and what is read back decides.
 */
export interface Folder {
  /** The file's text; null when it is not there. Throws on any other error (permission, I/O). */
  read(path: string): Promise<string | null>;
  /** Names in a folder, without temporary ones (`.tmp-…`) and `.nfs*`; null when the folder is not there. */
  list(path: string): Promise<readonly string[] | null>;
  /**
   * Creates `path` with `content` if nobody has yet. `content` holds a nonce, so that equality of the whole text means
   * "ours" even when the operation reported an error. Returns what is there now.
   */
  createOnce(path: string, content: string): Promise<{ readonly created: boolean; readonly content: string }>;
  /** Writes a file that only this process writes: temporary file, fsync, rename, fsync of the folder. */
  replace(path: string, content: string | Uint8Array): Promise<void>;
  /** open, append, fsync, close: each call is seen by others. */
  append(path: string, content: string): Promise<void>;
  /** Makes the folder and its parents (mode 0700). No error when it is there. */
  makeFolder(path: string): Promise<void>;
  /** Removes one file. No error when it is not there. */
  remove(path: string): Promise<void>;
  /** Inode number of a file or folder as text (a copy has another); null when it is not there. */
  identity(path: string): Promise<string | null>;
  /**
   * Inode and time of the last change (the file system's own) of a file as text; null when it is not there. An equal one means: the
   * same file, untouched, to a tick of that clock (some ms).
   */
  stamp(path: string): Promise<string | null>;
}
