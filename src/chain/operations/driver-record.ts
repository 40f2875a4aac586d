/** `drivers/<id>.json`: a process that attends a chain and moves it on where nobody else does (design law 10). */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { type ProcessRef, RECORD_VERSION } from "../../core/index.ts";
import { aliveHere, type Folder, thisProcess } from "../../host/index.ts";
import { encode, type JobPlace, readRecord } from "../../journal/index.ts";

interface DriverRecord {
  readonly version: number;
  readonly process: ProcessRef;
}

export interface DriverSign {
  remove(): Promise<void>;
}

/** Says that this process attends the chain. What it leaves behind when it is killed counts for nothing: its pid is gone. */
export async function putUpSign(folder: Folder, place: JobPlace): Promise<DriverSign> {
  const path = join(place.folder, "drivers", `${randomUUID()}.json`);
  const record: DriverRecord = { version: RECORD_VERSION, process: thisProcess() };
  await folder.makeFolder(join(place.folder, "drivers"));
  await folder.replace(path, encode(record));
  return { remove: () => folder.remove(path) };
}

/** Pid of a living process on this machine, other than this one, that attends the chain; null: none that can be seen. */
export async function attendedBy(folder: Folder, place: JobPlace): Promise<number | null> {
  const names = (await folder.list(join(place.folder, "drivers"))) ?? [];
  for (const name of names) {
    if (!name.endsWith(".json")) continue;
    const record = await readRecord<DriverRecord>(folder, join(place.folder, "drivers", name));
    if (record !== null && record.process.pid !== process.pid && aliveHere(record.process) === "alive")
      return record.process.pid;
  }
  return null;
}
