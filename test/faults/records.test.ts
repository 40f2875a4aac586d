/** Records and files in the job folder that this version did not write, or that are damaged. */
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { advance, findProject, jobTable, openWorld } from "../../src/chain/index.ts";
import {
  createHome,
  createSpec,
  findJobs,
  type JobPlace,
  jobPlace,
  readTask,
  taskPlace,
} from "../../src/journal/index.ts";
import { expectChain, loggedSteps, STEPS } from "../ill-behaved/step-log.ts";
import { eventually, Project } from "../local/harness.ts";
import { workFolder } from "./disks.ts";

const FIVE = `${STEPS} for i in 1 2 3 4 5; do step; ((n >= MAX_ITER)) && exit 0; done; exit 99`;

const UNUSABLE: readonly { readonly what: string; readonly text: string; readonly says: string }[] = [
  {
    what: "of a newer version",
    text: `${JSON.stringify({ version: 99, nonce: "n", verdict: "entangled" })}\n`,
    says: "was written by a newer stint (record version 99, this one knows 1): use that one",
  },
  {
    what: "that is damaged",
    text: '{"version":1,"non',
    says: "is damaged (17 bytes, not JSON): put it back from a backup",
  },
  { what: "that is something else", text: "[1, 2]\n", says: "is no record of stint: move it away" },
];

describe("a settlement", () => {
  for (const { what, text, says } of UNUSABLE)
    it(`${what} stops its own job with a line that names it, changes nothing, and other jobs go on`, async () => {
      const project = await Project.make(FIVE, { total: 5 });
      await project.advance();
      await project.watchToEnd();
      await eventually("that nothing runs any more", () => project.processes().length === 0);
      const path = join(project.attemptFolder(1), "settled.json");
      writeFileSync(path, text);
      const before = contents(project.job.folder);
      await expect(project.advance()).rejects.toThrow(`${path} ${says}`);
      expect(contents(project.job.folder)).toEqual(before);

      const other = await neighbour(project, "other");
      const world = await openWorld(other, { ...project.spec, name: "other" }, { folder: project.files });
      await advance(world, taskPlace(other, 0));
      await eventually("the end of the other job", async () => {
        const { settled, open } = await readTask(project.files, taskPlace(other, 0));
        return open.length === 0 && settled?.record.verdict === "completed";
      });
      const { jobs } = await jobTable({ stintFolder: project.job.stintFolder, folder: project.files, user: "tester" });
      expect(jobs.map(({ job, state, reason }) => ({ job, state, reason }))).toEqual([
        { job: "/tester/count", state: "unreadable", reason: `${path} ${says}` },
        { job: "/tester/other", state: "over", reason: expect.anything() },
      ]);
      expect(contents(project.job.folder)).toEqual(before);
    });

  it("that is empty (its writer died without hard links) is not taken for one: a line says what to remove", async () => {
    const project = await Project.make(FIVE, { total: 10 });
    mkdirSync(project.attemptFolder(1), { recursive: true });
    const path = join(project.attemptFolder(1), "settled.json");
    writeFileSync(path, "");
    await project.advance();
    const scheduler = join(project.attemptFolder(1), "runner.log");
    const line = `cannot create ${path}: it is empty: its writer ended before it wrote (EMPTY); remove it if nobody is writing it now`;
    await eventually("the line", async () => ((await project.files.read(scheduler)) ?? "").includes(line));
    await expect(project.advance()).rejects.toThrow(line);
    rmSync(path);
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 10, "once");
  });
});

describe("a stop of a newer version", () => {
  it("does the running application no harm, is named in the log, and the chain goes on when it is gone", async () => {
    const project = await Project.make(FIVE, { total: 10 });
    await project.advance();
    await eventually("one step", () => loggedSteps(project.folder).length >= 1);
    const stops = join(project.job.folder, "stops");
    mkdirSync(stops);
    const path = join(stops, "0001.json");
    writeFileSync(path, `${JSON.stringify({ version: 2, kind: "pause" })}\n`);
    const line = `${path} was written by a newer stint (record version 2, this one knows 1): use that one`;
    await eventually("its testimony", async () => (await project.attempts())[0]?.exited != null);
    expect((await project.attempts())[0]?.exited).toMatchObject({ by: "body", exitCode: 99, signalsSent: [] });
    const log = join(project.attemptFolder(1), "runner.log");
    await eventually("the line", async () => ((await project.files.read(log)) ?? "").includes(line));
    expect(readFileSync(path, "utf8")).toContain('"kind":"pause"');
    rmSync(path);
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 10, "once");
  });
});

describe("an empty revision of the specification", () => {
  it("is not there yet: the one before it holds", async () => {
    const project = await Project.make(FIVE, { total: 10 });
    writeFileSync(join(project.job.folder, "spec", "0002.json"), "");
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 10, "once");
    expect((await project.attempts())[0]?.claim?.specRevision).toBe(1);
  });
});

describe("foreign files", () => {
  it("everywhere in the job folder are passed over, and stay as they are", async () => {
    const project = await Project.make(FIVE, { total: 15 });
    const { stintFolder, folder } = project.job;
    const places: Readonly<Record<string, readonly string[]>> = {
      [join(stintFolder, "jobs")]: FOREIGN,
      [join(stintFolder, "jobs", "tester")]: FOREIGN,
      [folder]: FOREIGN,
      [join(folder, "spec")]: [...FOREIGN, "0002", "0003.json~", "0004.json.bak", "#0005.json#"],
      [join(folder, "stops")]: [...FOREIGN, "0002", "0003.json~", "0004.json.bak", "#0005.json#", "00006.json.swp"],
      [join(folder, "tasks")]: FOREIGN,
      [join(project.task.folder, "attempts")]: [...FOREIGN, "0002.json", "0003~", "0004.bak", "7", "0", "0000"],
      [project.attemptFolder(1)]: [...FOREIGN, "go.json~", "settled.json.bak", ".settled.json.swp"],
    };
    for (const [place, names] of Object.entries(places)) {
      mkdirSync(place, { recursive: true });
      for (const name of names) writeFileSync(join(place, name), "{ foreign");
      for (const name of FOLDERS) mkdirSync(join(place, name));
    }
    await project.advance();
    await eventually("six steps", () => loggedSteps(project.folder).length >= 6);
    await project.stop("drain");
    expect(await project.driveToEnd()).toMatchObject({ kind: "over", decision: { kind: "stop", why: "drained" } });
    expect(readdirSync(join(folder, "stops"))).toContain("0001.json");
    await project.stop("resume");
    await project.advance();
    expect(await project.watchToEnd()).toMatchObject({ verdict: "completed" });
    expectChain(project.folder, 15);
    const claimed = (await project.attempts()).filter(({ claim }) => claim !== null).map(({ number }) => number);
    expect(claimed).toEqual(claimed.map((_, i) => i + 1));
    expect((await findJobs(project.files, stintFolder)).map(({ id }) => id)).toEqual(["/tester/count"]);
    const found = findProject({ cwd: project.folder, environment: {} });
    if (found === null) throw new Error("no project");
    expect((await jobTable(found)).jobs).toMatchObject([
      { job: "/tester/count", state: "over", attempts: claimed.length },
    ]);
    for (const [place, names] of Object.entries(places)) {
      for (const name of names) expect(readFileSync(join(place, name), "utf8")).toBe("{ foreign");
      for (const name of FOLDERS) expect(readdirSync(join(place, name))).toEqual([]);
    }
  });
});

const FOREIGN = [".nfs0001", "core.123", ".tmp-elsewhere-1-abc", "notes.txt", "notes.txt~", ".DS_Store", "4913"];
const FOLDERS = ["lost+found", ".snapshot", "old"];

/** Another job in the same `.stint`. */
async function neighbour(project: Project, name: string): Promise<JobPlace> {
  const job = jobPlace(project.job.stintFolder, `/tester/${name}`);
  const cwd = workFolder();
  writeFileSync(join(cwd, "app.sh"), FIVE);
  const spec = { ...project.spec, name, cwd };
  await createHome(project.files, job, randomUUID(), Date.now());
  const revision = { version: 1, nonce: randomUUID(), atMs: Date.now(), by: "tester", spec, origins: {} };
  await createSpec(project.files, job, 1, revision);
  writeFileSync(join(job.folder, "env.json"), readFileSync(join(project.job.folder, "env.json")));
  return job;
}

/** Every file below, with its text. */
function contents(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), "utf8")]),
  );
}
