/** The guardian's part (protocol §3, step 12): if the body is gone without a testimony, sweep and testify in its place. */
import { join } from "node:path";
import { APPLICATION_FILE, type ApplicationRecord, type World } from "../chain/index.ts";
import { type Exited, type JobSpec, type ProcessRef, progressOf, RECORD_VERSION, type Started } from "../core/index.ts";
import { sameMachine, sinceStartMs } from "../host/index.ts";
import { type AttemptPlace, createRecord, readAttempt, readRecord, readTask } from "../journal/index.ts";

export interface GuardianPorts {
  readonly world: World;
  readonly place: AttemptPlace;
  readonly spec: JobSpec;
  /** The process that stays behind a body, on this machine, for which the caller testifies: itself, or what it was called by. */
  readonly guardian: Pick<ProcessRef, "pid" | "startTicks">;
  /** KILL whatever is left of the attempt, bounded; pids that nothing could end. */
  sweep(): Promise<readonly number[]>;
  /** CPU of everything that ended below the guardian; null where it can't tell. */
  usage(): { readonly cpuUserMs: number | null; readonly cpuSystemMs: number | null };
}

/** Returns whether a testimony was due. Never starts anything. */
export async function guardAfterDeath(ports: GuardianPorts): Promise<boolean> {
  const { world, place, spec } = ports;
  const records = await readAttempt(world.folder, place);
  if (records.started !== null && !isGuardianOf(records.started, ports)) {
    // A twin's script: the body belongs to another guardian and may well be alive.
    world.log(`not the guardian of this attempt (that is ${guardianSaid(records.started)})`);
    return false;
  }
  if (records.exited !== null || records.go?.what !== "start") {
    // Without go = start no application of this attempt can exist; whatever else is left must go all the same.
    if (records.started !== null) await ports.sweep();
    return false;
  }
  const survivors = await ports.sweep();
  const { settled } = await readTask(world.folder, place.task);
  const nowMs = world.clock.nowMs();
  const exited: Exited = {
    version: RECORD_VERSION,
    nonce: world.nonce(),
    atMs: nowMs,
    by: "guardian",
    exitCode: null,
    signal: null,
    spawnError: null,
    windowEnded: false,
    endedBy: "unknown",
    spawned: true,
    stopNumber: null,
    signalsSent: [],
    signalsReceived: [],
    progressAfter: progressOf(await world.readCheckpoint(place.task, spec), settled?.record.carry.highWater ?? null),
    startedAtMs: records.go.atMs,
    ranMs: await ranSoFarMs(world, place),
    ...ports.usage(),
    memoryPeakBytes: null,
    memoryPeakIsLowerBound: true,
    survivors,
  };
  await createRecord(world.folder, join(place.folder, "exited.json"), exited);
  world.log(`the body is gone without a testimony: swept, ${survivors.length} survivors`);
  return true;
}

/** A body without a guardian is nobody's to testify for: a twin's script cannot know that it is gone. */
function isGuardianOf({ guardian }: Started, { guardian: own, world }: GuardianPorts): boolean {
  if (guardian === null || guardian.pid !== own.pid || guardian.startTicks !== own.startTicks) return false;
  return sameMachine(guardian, world.self) && guardian.bootId === world.self.bootId;
}

function guardianSaid({ guardian }: Started): string {
  return guardian === null ? "nobody" : `pid ${guardian.pid} on ${guardian.host}`;
}

/** From the application's start to now that it is surely gone; null where its start is not on file, or was on another boot. */
async function ranSoFarMs(world: World, place: AttemptPlace): Promise<number | null> {
  const application = await readRecord<ApplicationRecord>(world.folder, join(place.folder, APPLICATION_FILE));
  return application === null ? null : sinceStartMs(application.process);
}
