/** Runs one call of the checkpoint's face in a process of its own: arguments as JSON, the answer as JSON on stdout. */
import {
  claimOwner,
  makeQuarantine,
  moveAside,
  ownerPlace,
  planQuarantine,
  readCheckpoint,
  releaseOwner,
  resolveCheckpoint,
  spaceFor,
  stillOwner,
} from "../../src/checkpoint/index.ts";
import { pooledFolder } from "../../src/host/index.ts";

const [call, argument = ""] = process.argv.slice(2);
const given = JSON.parse(argument);

async function run(): Promise<unknown> {
  if (call === "read") return (await readCheckpoint(given.checkpoint, given.cwd)).reading;
  if (call === "space") return spaceFor(given.checkpoint, given.cwd);
  if (call === "plan") return planQuarantine(given.checkpoint, given.cwd, given.attempt);
  if (call === "make") return makeQuarantine(given.folder);
  if (call === "move") return moveAside(given.moves, async () => true);
  const place = ownerPlace(await resolveCheckpoint(given.checkpoint, given.cwd), given.project);
  // All racers stand at the line before any may go.
  process.stdout.write("ready\n");
  await new Promise((resolve) => process.stdin.once("data", resolve));
  process.stdin.destroy();
  if (call === "claim") return claimOwner(pooledFolder(), place, given.me, async () => given.judgement);
  // Takes the checkpoint whenever it is free, appends a line while it owns it, and gives it back.
  for (let rounds = 0; rounds < given.rounds; ) {
    const claim = await claimOwner(pooledFolder(), place, given.me, async () => "alive");
    if (!claim.owned) continue;
    if (!(await stillOwner(pooledFolder(), place, given.me))) throw new Error("owner, and not the owner");
    await pooledFolder().append(given.log, `${given.me.jobUuid} in\n`);
    await pooledFolder().append(given.log, `${given.me.jobUuid} out\n`);
    if (!(await releaseOwner(pooledFolder(), place, given.me))) throw new Error("could not release what is owned");
    rounds++;
  }
  return "done";
}

process.stdout.write(`${JSON.stringify(await run())}\n`);
