/** What the scheduler's own record says an attempt has used. */
import { join } from "node:path";
import type { Exited } from "../core/index.ts";
import { clockTicksPerSecond, type Folder, hasEnded, readChildren, readStat } from "../host/index.ts";
import { type AttemptPlace, readRecord } from "../journal/index.ts";

/**
 * CPU of everything that has ended below this process, in ms: the children that it waited for (the runner) with all that these waited
 * for in turn, and the zombies that it has adopted as subreaper, which Node never waits for. Not in it: who ended while its parent
 * ignored SIGCHLD, who still lives, and, without perl (no subreaper), orphans.
 */
export function cpuBelow(): { readonly cpuUserMs: number; readonly cpuSystemMs: number } {
  const self = readStat(process.pid);
  if (self === null) return { cpuUserMs: 0, cpuSystemMs: 0 };
  let userTicks = self.childUserTicks;
  let systemTicks = self.childSystemTicks;
  for (const pid of readChildren(self) ?? []) {
    const stat = readStat(pid);
    if (stat === null || !hasEnded(stat)) continue;
    userTicks += stat.userTicks + stat.childUserTicks;
    systemTicks += stat.systemTicks + stat.childSystemTicks;
  }
  const tickMs = 1000 / clockTicksPerSecond();
  return { cpuUserMs: Math.round(userTicks * tickMs), cpuSystemMs: Math.round(systemTicks * tickMs) };
}

/** From the testimony, else from the last sample on file; the shepherd samples nothing itself. */
export async function memoryPeakOf(
  folder: Folder,
  place: AttemptPlace,
): Promise<{ readonly memoryPeakBytes: number | null; readonly memoryPeakIsLowerBound: boolean }> {
  const exited = await readRecord<Exited>(folder, join(place.folder, "exited.json"));
  if (exited !== null && exited.memoryPeakBytes !== null)
    return { memoryPeakBytes: exited.memoryPeakBytes, memoryPeakIsLowerBound: exited.memoryPeakIsLowerBound };
  const rows = ((await folder.read(join(place.folder, "samples.csv"))) ?? "").trimEnd().split("\n");
  const peak = Number(rows.at(-1)?.split(",")[4] ?? Number.NaN);
  return { memoryPeakBytes: peak > 0 ? peak : null, memoryPeakIsLowerBound: true };
}
