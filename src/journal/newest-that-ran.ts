import { join } from "node:path";
import type { Settled } from "../core/index.ts";
import type { Folder } from "../host/index.ts";
import { readRecord, type TaskState } from "./journal.ts";
import { attemptPlace, type TaskPlace } from "./layout.ts";

/**
 * From the newest settlement down to that of an attempt that ran: successors that were queued and not needed end as never-ran above
 * the one that says how the work went. Where none has run, the newest.
 */
export async function newestThatRan(
  folder: Folder,
  task: TaskPlace,
  newest: TaskState["settled"],
): Promise<TaskState["settled"]> {
  let settled = newest;
  while (settled !== null && settled.record.verdict === "never-ran" && settled.record.carry.attempts > 0) {
    const number: number = settled.number - 1;
    const path = join(attemptPlace(task, number).folder, "settled.json");
    const record = await readRecord<Settled>(folder, path);
    settled = record === null ? null : { number, record };
  }
  return settled ?? newest;
}
