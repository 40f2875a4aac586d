/** `samples.csv` on a folder that may be full for a while: what could not be written is written later. */
import type { Folder } from "../host/index.ts";

/** About a day of rows; beyond this they are left where they were taken, which has a bound of its own. */
const MOST_PENDING = 2 * 1024 * 1024;

export class SampleFile {
  readonly #folder: Folder;
  readonly #path: string;
  readonly #take: () => string;
  #pending = "";
  /** An append failed: part of it may be there, without an end of line. */
  #torn = false;
  #last: Promise<unknown> = Promise.resolve();

  /** `take`: rows since the last call. */
  constructor(folder: Folder, path: string, take: () => string) {
    this.#folder = folder;
    this.#path = path;
    this.#take = take;
  }

  /** Appends all rows that are not on file yet, one call after the other. Throws what the folder throws, and forgets nothing. */
  write(): Promise<void> {
    const written = this.#last.then(() => this.#append());
    this.#last = written.catch(() => undefined);
    return written;
  }

  async #append(): Promise<void> {
    if (this.#pending.length < MOST_PENDING) this.#pending += this.#take();
    if (this.#pending === "") return;
    const rows = this.#pending;
    const before = this.#torn ? "\n" : "";
    this.#torn = true;
    await this.#folder.append(this.#path, `${before}${rows}`);
    this.#torn = false;
    this.#pending = "";
  }
}
