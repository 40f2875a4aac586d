import { spawn } from "node:child_process";
import { chmod, mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  claimOwner,
  type OwnerPlace,
  readOwner,
  releaseOwner,
  stillOwner,
  tidyOwners,
} from "../../src/checkpoint/index.ts";
import { pooledFolder } from "../../src/host/index.ts";
import { scratchFolder } from "./run-program.ts";

const DAY_MS = 24 * 3_600_000;
const folder = pooledFolder();
let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let place: OwnerPlace;
let path = "";
let count = 0;

const task = (name: string) => ({
  jobUuid: name,
  jobFolder: `/jobs/${name}`,
  taskIndex: 0,
  taskId: `/me/${name}/0`,
  by: name,
});
const over = async () => "over" as const;
const tomorrow = () => Date.now() + DAY_MS;
const hidden = async () => (await readdir(path)).filter((name) => name.startsWith(".")).sort();
const records = (...numbers: readonly number[]) => numbers.map((number) => `.s.txt.stint-owner.${number}.json`);

beforeAll(async () => {
  scratch = await scratchFolder();
});
beforeEach(async () => {
  path = join(scratch.path, `case-${++count}`);
  await mkdir(path);
  place = {
    checkpoint: join(path, "s.txt"),
    beside: { folder: path, prefix: ".s.txt.stint-owner" },
    project: { folder: join(path, "stint"), prefix: "x" },
  };
});
afterAll(() => scratch.remove());

test("of old records those that still say something stay, and the next claim goes on above them", async () => {
  await claimOwner(folder, place, task("a"), over);
  await claimOwner(folder, place, task("b"), over);
  await claimOwner(folder, place, task("b"), over, { renew: true });
  expect(await hidden()).toEqual(records(1, 2, 3, 4, 5));
  await tidyOwners(folder, place, Date.now());
  expect(await hidden(), "none is a day old").toEqual(records(1, 2, 3, 4, 5));
  await tidyOwners(folder, place, tomorrow());
  expect(await hidden()).toEqual(records(4, 5));
  expect(await stillOwner(folder, place, task("b"))).toBe(true);
  expect(await claimOwner(folder, place, task("c"), async () => "alive")).toMatchObject({ owned: false });
  expect(await claimOwner(folder, place, task("c"), over)).toMatchObject({ owned: true, number: 7 });
  expect(await releaseOwner(folder, place, task("c"))).toBe(true);
  await tidyOwners(folder, place, tomorrow());
  expect(await hidden()).toEqual(records(7, 8));
  expect(await readOwner(folder, place)).toMatchObject({ kind: "released" });
});

test("the owner below claims that went no further stays, and so does all where a record cannot be read", async () => {
  await claimOwner(folder, place, task("a"), over);
  await claimOwner(folder, place, task("b"), over);
  const claim = JSON.parse(await readFile(join(path, records(3)[0] ?? ""), "utf8"));
  for (const [index, name] of records(5, 6, 7).entries())
    await writeFile(join(path, name), JSON.stringify({ ...claim, jobUuid: `c${index}`, nonce: `n${index}` }));
  await tidyOwners(folder, place, tomorrow());
  expect(await hidden()).toEqual(records(4, 5, 6, 7));
  await writeFile(join(path, records(6)[0] ?? ""), '{"version":99}');
  await tidyOwners(folder, place, tomorrow());
  expect(await hidden()).toEqual(records(4, 5, 6, 7));
});

test("where somebody may make records and not list them, all stay", async () => {
  for (const name of ["a", "b", "c"]) await claimOwner(folder, place, task(name), over);
  await chmod(path, 0o733);
  await tidyOwners(folder, place, tomorrow());
  expect(await hidden()).toEqual(records(1, 2, 3, 4, 5, 6));
  await chmod(path, 0o755);
  await tidyOwners(folder, place, tomorrow());
  expect(await hidden()).toEqual(records(5, 6));
});

test("claims at once, with everything tidied at every moment, never have two winners", async () => {
  let won = 0;
  for (let round = 0; round < 20; round++) {
    await claimOwner(folder, place, task("before"), over);
    let going = true;
    // As if every record were old: what a reader has just listed may be gone when it reads.
    const tidying = (async () => {
      while (going) await tidyOwners(folder, place, tomorrow(), 0);
    })();
    const judge = async (owner: { readonly jobUuid: string }) =>
      owner.jobUuid === "before" ? ("over" as const) : ("alive" as const);
    const claims = await Promise.all(
      ["a", "b", "c"].map((name) => claimOwner(folder, place, task(name), judge)),
    ).finally(() => {
      going = false;
    });
    await tidying;
    const winners = claims.filter((claim) => claim.owned).length;
    expect(winners).toBeLessThanOrEqual(1);
    won += winners;
    for (const name of ["a", "b", "c"]) await releaseOwner(folder, place, task(name));
  }
  expect(won).toBeGreaterThan(0);
});

test("temporary files of dead makers go, and no other file", async () => {
  const child = spawn("true");
  await new Promise((resolve) => child.on("close", resolve));
  await claimOwner(folder, place, task("a"), over);
  const record = await readFile(join(path, records(2)[0] ?? ""), "utf8");
  const old = JSON.stringify({ ...JSON.parse(record), atMs: Date.now() - 2 * DAY_MS });
  const host = hostname();
  const tmp = (on: string, pid: number | undefined, end: string) => `.tmp-${on}-${pid}-00000000000000${end}`;
  const gone: Readonly<Record<string, string>> = {
    [tmp(host, child.pid, "01")]: "",
    [tmp(host, child.pid, "02")]: record.slice(0, 40),
    [tmp(host, child.pid, "03")]: old,
    [tmp("node7", 1, "04")]: old,
  };
  const kept: Readonly<Record<string, string>> = {
    [tmp(host, process.pid, "05")]: "",
    [tmp(host, process.pid, "06")]: old,
    // A process of the same host's name may live where it cannot be seen: it has a minute.
    [tmp(host, child.pid, "07")]: record,
    [tmp("node7", child.pid, "08")]: record.slice(0, 40),
    [tmp(host, child.pid, "09")]: "my own notes",
    // Just made: its maker may be about to write it.
    [tmp(host, child.pid, "0a")]: "",
    [tmp(host, child.pid, "0b")]: record.slice(0, 40),
    ".tmp-mine": "",
    ".tmp-state": record,
  };
  for (const [name, text] of Object.entries({ ...gone, ...kept })) await writeFile(join(path, name), text);
  const torn = [tmp(host, child.pid, "01"), tmp(host, child.pid, "02")];
  // By the file system's clock; what this machine's says (here: a day on) makes none of them older.
  const { mtimeMs } = await stat(join(path, torn[0] ?? ""));
  for (const name of torn) await utimes(join(path, name), mtimeMs / 1000 - 61, mtimeMs / 1000 - 61);
  await tidyOwners(folder, place, Date.now());
  expect(await hidden()).toEqual([...records(1, 2), ...Object.keys(kept)].sort());
  await tidyOwners(folder, place, tomorrow());
  expect(await hidden()).toEqual(expect.arrayContaining([tmp(host, child.pid, "0a"), tmp(host, child.pid, "0b")]));
});
