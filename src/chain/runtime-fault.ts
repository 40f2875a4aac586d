/** Attempts whose script found that the runner does not start on its node: they never ran, and that node is avoided. */
import { join } from "node:path";
import type { Folder } from "../host/index.ts";
import { type AttemptPlace, attemptPlace } from "../journal/index.ts";
import { parseRuntimeFailed, RUNTIME_FAILED } from "../slurm/index.ts";

export interface RuntimeFault {
  /** As Slurm calls it. */
  readonly node: string;
  /** One line for a person. */
  readonly why: string;
}

/** What the attempt's script has left behind; null: nothing. */
export async function readRuntimeFault(folder: Folder, place: AttemptPlace): Promise<RuntimeFault | null> {
  const text = await folder.read(join(place.folder, RUNTIME_FAILED));
  if (text === null) return null;
  const fault = parseRuntimeFailed(text);
  return fault.node === "" ? null : fault;
}

/** A fault of one node is old news after so many attempts: it may have been mended, and a list that only grows starves. */
const LOOK_BACK = 5;

/** Nodes that the last few attempts below could not start their runner on. */
export async function brokenNodes(folder: Folder, place: AttemptPlace): Promise<readonly string[]> {
  const nodes = new Set<string>();
  for (let number = place.number - 1; number > 0 && number >= place.number - LOOK_BACK; number--) {
    const fault = await readRuntimeFault(folder, attemptPlace(place.task, number));
    if (fault !== null && /^[\w.-]+$/.test(fault.node)) nodes.add(fault.node);
  }
  return [...nodes];
}
