/** What the body asks about the checkpoint before it starts anything: is it ours, and can one be saved at all? */
import { ownerPlace, readOwner, resolveCheckpoint, spaceFor, stillOwner } from "../checkpoint/index.ts";
import type { JobSpec } from "../core/index.ts";
import { type Folder, spaceAt } from "../host/index.ts";
import type { TaskPlace } from "../journal/index.ts";

/**
 * Null: the checkpoint is this task's, or no owner was ever on file; else who has it. One that was given free (by `rm`) is not
 * ours any more: whoever goes on must claim it first.
 */
export async function otherOwner(
  folder: Folder,
  spec: JobSpec,
  task: TaskPlace,
  jobUuid: string,
): Promise<string | null> {
  if (spec.checkpoint === null) return null;
  const place = ownerPlace(await resolveCheckpoint(spec.checkpoint, spec.cwd), task.job.stintFolder);
  if (await stillOwner(folder, place, { jobUuid, taskIndex: task.index })) return null;
  const owner = await readOwner(folder, place);
  if (owner.kind === "none") return null;
  if (owner.kind === "released")
    return `the checkpoint ${owner.by.checkpoint} was given free by ${owner.by.by}: no job owns it`;
  if (owner.kind === "unreadable") return `the owner record ${owner.path} cannot be used: ${owner.why}`;
  const { record } = owner;
  if (record.jobUuid === jobUuid && record.taskIndex === task.index)
    return `the checkpoint ${record.checkpoint} is just being claimed for this task (${owner.path})`;
  return `the checkpoint ${record.checkpoint} belongs to task ${record.taskId} (${record.jobFolder})`;
}

/**
 * What surely forbids a start: the application may still make a missing folder, or make room by removing old files; what
 * may be in its way all the same goes to the log.
 */
export async function spaceTrouble(spec: JobSpec, log: (line: string) => void): Promise<string | null> {
  if (spec.checkpoint === null) return null;
  const findings = await spaceFor(spec.checkpoint, spec.cwd);
  for (const { kind, severity, text } of findings) {
    const mayPass =
      severity !== "error" || kind === "folder-missing" || kind === "not-readable" || kind === "hard-linked";
    if (!mayPass && (kind !== "no-space" || (await isFull(spec)))) return text;
    log(`warning: ${text}`);
  }
  return null;
}

/** With less than this nothing can be saved. */
const LEAST_BYTES = 1024 * 1024;

async function isFull(spec: JobSpec): Promise<boolean> {
  if (spec.checkpoint === null) return false;
  const { folder } = await resolveCheckpoint(spec.checkpoint, spec.cwd);
  return (await spaceAt(folder)).freeBytes < LEAST_BYTES;
}
