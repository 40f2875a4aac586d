/** One of many processes that call `advance`, or `advanceJob`, at once (bundled by the tests): waits for the others, then calls it. */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { advance, advanceJob, openWorld } from "../../src/chain/index.ts";
import { blockingFolder } from "../../src/host/index.ts";
import { jobPlace, readSpec, taskPlace } from "../../src/journal/index.ts";

const [stintFolder = "", id = "", meeting = "", count = "1", what = "task"] = process.argv.slice(2);
const folder = blockingFolder();
const place = jobPlace(stintFolder, id);
const found = await readSpec(folder, place);
if (found === null) throw new Error(`no specification of ${id}`);
const world = await openWorld(place, found.revision.spec, { folder });
writeFileSync(join(meeting, String(process.pid)), "");
while (readdirSync(meeting).length < Number(count)) await new Promise((resolve) => setTimeout(resolve, 1));
const outcome = await (what === "job" ? advanceJob(world, place) : advance(world, taskPlace(place, 0)));
process.stdout.write(JSON.stringify(outcome));
