/** The process that is a submitter: the real parts behind its ports. */
import { openWorld } from "../chain/index.ts";
import { pooledFolder } from "../host/index.ts";
import { checkHome, placeOfSubmitterFolder, readSpec } from "../journal/index.ts";
import { attemptLog } from "./log.ts";
import { listenOutside } from "./outside.ts";
import { writesForJob } from "./own-job.ts";
import { surviveRejections } from "./rejections.ts";
import { runSubmitter } from "./submitter.ts";

/** Runs the submitter with this folder to its end. */
export async function submitterProcess(submitterFolder: string): Promise<void> {
  const outside = listenOutside(false);
  const log = attemptLog(submitterFolder, "submitter");
  surviveRejections(log);
  const place = placeOfSubmitterFolder(submitterFolder);
  if (place === null) throw new Error(`${submitterFolder} is no folder of a submitter`);
  const plain = pooledFolder();
  const { uuid } = await checkHome(plain, place.job);
  const folder = writesForJob(plain, place.job, uuid);
  const found = await readSpec(folder, place.job);
  if (found === null) throw new Error(`${place.job.folder}/spec is empty: there is nothing to move`);
  const world = await openWorld(place.job, found.revision.spec, { folder, log });
  const allocation = await world.scheduler.here(process.env);
  if (allocation === null) throw new Error("this process is in no allocation of slurm: it can't be a submitter");
  const reason = await runSubmitter({
    world,
    place,
    allocation,
    outside,
    isAsked: () => outside.isAsked(),
    readLimitEnd: async () => (await world.scheduler.here(process.env))?.limitEndAtMs ?? null,
  });
  log(`left: ${reason}`);
}
