/** Persons' words about one task of several, and about all of them: quarantine, as-it-is, rm, a lost specification. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { newProject, QUICK, type TestProject } from "./stint.ts";

/** Task 1 cannot go on from what it has saved, unless it saved a 5; the others are done at once. */
const APP = `
n=$(cat "$CKPT_PATH" 2>/dev/null || echo 0)
[ "$STINT_TASK_INDEX" != 1 ] || [ "$n" = 5 ] || [ -e mended ] || { echo 3 >"$CKPT_PATH"; exit 3; }
echo 7 >"$CKPT_PATH"
`;

interface StopOnFile {
  readonly kind: string;
  readonly task?: number;
  readonly quarantine?: { readonly moves: readonly { readonly from: string }[] };
}

let project: TestProject;

/** Of three tasks 0 and 2 are finished, and 1 is held. */
beforeEach(async () => {
  project = newProject();
  writeFileSync(join(project.folder, "app.sh"), APP);
  const words = ["--limit", "60s", "--tasks", "3", "--checkpoint", "s-{task}.txt", "--total", "7", "--name", "sim"];
  const ran = await project.stint(["run", ...QUICK, ...words, "--", "bash", "app.sh"]);
  expect(ran).toMatchObject({ status: 1, stdout: expect.stringContaining("sim: held: 1 held, 2 finished") });
});

function stops(): readonly StopOnFile[] {
  const folder = join(project.jobFolder("sim"), "stops");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as StopOnFile);
}

test("a checkpoint is set aside by a word on its task, and the other tasks are left alone", async () => {
  for (const flag of ["--quarantine", "--as-it-is", "--over=3"])
    expect(await project.stint(["resume", "sim", flag])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(`is a word about one task: stint resume sim/INDEX ${flag.replace(/=.*/, "")}`),
    });
  expect(stops()).toEqual([]);
  const dry = await project.stint(["resume", "sim/1", "--quarantine", "--dry-run"]);
  expect(dry).toMatchObject({ status: 0, stdout: expect.stringMatching(/^would move \S+\/s-1\.txt /) });

  writeFileSync(join(project.folder, "mended"), "");
  const resumed = await project.stint(["resume", "sim/1", "--quarantine"]);
  expect(resumed.status, resumed.stderr).toBe(0);
  expect(resumed.stdout).toMatch(/^moved \S+\/s-1\.txt .*when nothing of sim\/1 runs any more/);
  expect(await project.stint(["wait", "sim"])).toMatchObject({ status: 0 });
  expect(stops().map(({ kind, task, quarantine }) => [kind, task, quarantine?.moves.length])).toEqual([
    ["drain", 1, 1],
    ["resume", 1, 1],
  ]);
  expect(readFileSync(join(project.folder, "s-0.txt"), "utf8")).toBe("7\n");
});

test("who died over one task's checkpoint left a word: the resume of all makes its moves, and says so", async () => {
  const { quarantine } = (await project.json(["resume", "sim/1", "--quarantine", "--dry-run"])) as {
    quarantine?: StopOnFile["quarantine"];
  };
  const folder = join(project.jobFolder("sim"), "stops");
  mkdirSync(folder);
  const word = { version: 1, nonce: "n", atMs: 1, kind: "drain", by: "ann@here", task: 1, quarantine };
  writeFileSync(join(folder, "0001.json"), `${JSON.stringify(word)}\n`);
  writeFileSync(join(project.folder, "mended"), "");
  const resumed = await project.stint(["resume", "sim"]);
  expect(resumed.status, resumed.stderr).toBe(0);
  expect(resumed.stderr).toMatch(/^sim\/1: moved \S+\/s-1\.txt to \S+0003-s-1\.txt, as ann@here asked for before$/m);
  expect(await project.stint(["wait", "sim"])).toMatchObject({ status: 0 });
  expect(stops().map(({ kind, task }) => [kind, task])).toEqual([
    ["drain", 1],
    ["resume", 1],
    ["resume", undefined],
  ]);
});

test("one checkpoint that cannot be read: the resume of all starts nothing, and names the task", async () => {
  writeFileSync(join(project.folder, "s-1.txt"), "torn");
  for (const name of ["sim", "sim/1"])
    expect(await project.stint(["resume", name])).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/s-1\.txt cannot be used: .* with: stint resume sim\/1 --as-it-is\n$/),
    });
  expect(stops()).toEqual([]);
  // Mended, it goes on.
  writeFileSync(join(project.folder, "s-1.txt"), "5\n");
  expect(await project.stint(["resume", "sim"])).toMatchObject({ status: 0 });
  expect(await project.stint(["wait", "sim"])).toMatchObject({ status: 0 });
});

test("rm is about whole jobs, and keeps one whose specification is lost", async () => {
  expect(await project.stint(["rm", "sim/0"])).toMatchObject({
    status: 2,
    stderr: "stint: sim/0 is one task of sim, and this is about whole jobs: name sim\n",
  });
  const spec = join(project.jobFolder("sim"), "spec", "0001.json");
  renameSync(spec, `${spec}.lost`);
  for (const words of [
    ["rm", "sim"],
    ["resume", "sim"],
    ["cancel", "sim"],
  ])
    expect(await project.stint(words)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("is missing, yet attempts are on file: put it back from a backup"),
    });
  renameSync(`${spec}.lost`, spec);
  expect(await project.stint(["rm", "sim"])).toMatchObject({ status: 0 });
});

test("where nobody says how many, this machine runs one task for each of its CPUs", async () => {
  const words = ["submit", "--dry-run", ...QUICK, "--tasks", "5000", "--name", "many"];
  const { stdout } = await project.stint([...words, "--", "true"]);
  const cpus = availableParallelism();
  expect(stdout).toContain(`0-4999, ${cpus} at a time`);
  const two = await project.stint([...words, "--parallel", "1", "--", "true"]);
  expect(two.stdout).toContain("0-4999, 1 at a time");
});
