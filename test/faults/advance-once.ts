/** Moves one chain on, as another user (bundled by disks.ts): the folder of `.stint`, the id of the job. */
import { advance, openWorld } from "../../src/chain/index.ts";
import { blockingFolder } from "../../src/host/index.ts";
import { jobPlace, readSpec, taskPlace } from "../../src/journal/index.ts";

const [stintFolder = "", id = ""] = process.argv.slice(2);
const folder = blockingFolder();
try {
  const place = jobPlace(stintFolder, id);
  const found = await readSpec(folder, place);
  if (found === null) throw new Error(`no specification of ${id}`);
  const world = await openWorld(place, found.revision.spec, { folder });
  console.log(JSON.stringify(await advance(world, taskPlace(place, 0))));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
