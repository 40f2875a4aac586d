/** `guardian`: called by Slurm's batch script when the runner died without a testimony. */
import { markOf, openWorld, reservePath, withReserve } from "../chain/index.ts";
import { findMembers, type MemberQuery, pooledFolder, processRef, sweep, termAll } from "../host/index.ts";
import { checkHome } from "../journal/index.ts";
import { markQuery } from "../schedulers/index.ts";
import { openAttempt } from "./attempt.ts";
import { guardAfterDeath } from "./guardian.ts";
import { attemptLog } from "./log.ts";
import { seeThatItGoesOn } from "./mover.ts";

export async function guardianProcess(attemptFolder: string): Promise<void> {
  const batchScript = processRef(process.ppid);
  if (batchScript === null) throw new Error("the batch script that has called this is gone");
  const plain = pooledFolder();
  const { place, spec } = await openAttempt(plain, attemptFolder);
  const folder = withReserve(plain, reservePath(place.task));
  const log = attemptLog(attemptFolder, "guardian");
  const world = await openWorld(place.task.job, spec, { folder, log, task: place.task.index });
  const { uuid } = await checkHome(folder, place.task.job);
  const allocation = await world.scheduler.here(process.env);
  const query: MemberQuery = {
    roots: [],
    session: null,
    mark: markQuery(markOf(uuid, place)),
    ...(allocation === null || spec.scheduler === "local" ? {} : { alsoEnv: { SLURM_JOB_ID: allocation.id } }),
    cgroup: allocation?.cgroup ?? null,
    // The batch script that waits for us.
    exclude: [batchScript.pid],
  };
  const find = () => findMembers(query);
  await guardAfterDeath({
    world,
    place,
    spec,
    guardian: batchScript,
    async sweep() {
      const members = find();
      if (members.length > 0) termAll(members, null);
      return (await sweep({ find, graceMs: members.length > 0 ? spec.killWaitMs : 0 })).map(({ pid }) => pid);
    },
    // The batch system counts for itself.
    usage: () => ({ cpuUserMs: null, cpuSystemMs: null }),
  });
  // Its own end is settled by the next attempt, or by the submitter, which sees the final state: there must be one.
  await seeThatItGoesOn({ world, place, spec });
}
