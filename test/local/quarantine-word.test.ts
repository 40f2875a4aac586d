/** The word to set a checkpoint aside: refused it stays without effect, whatever happens at the same moment. */
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { StintError } from "../../src/chain/index.ts";
import { resumeJob } from "../../src/chain/index.ts";
import { readJob } from "../../src/chain/operations/job-on-file.ts";
import { type Project as ChainProject, requireProject } from "../../src/chain/operations/project.ts";
import { planSetAside, type SetAside, setAside as setAsideOf } from "../../src/chain/operations/set-aside.ts";
import type { JobSpec, Stop } from "../../src/core/index.ts";
import { thisProcess } from "../../src/host/index.ts";
import { createStop, type JobPlace, readOwnStops } from "../../src/journal/index.ts";
import { Project } from "./harness.ts";

const real = { ...fs.promises };
afterEach(() => {
  Object.assign(fs.promises, real);
  syncBuiltinESMExports();
});

/** Over by its own exit status, with a checkpoint. */
async function atRest(changes: Partial<JobSpec> = {}, script = "echo 3 >state.txt; exit 76") {
  const made = await Project.make(script, changes);
  expect(await made.driveToEnd()).toMatchObject({ kind: "over", decision: { kind: "stop" } });
  const project = requireProject({ cwd: made.folder, environment: {} });
  const plan = async (asked: boolean): Promise<SetAside | null> => {
    const job = await readJob(project.folder, made.job);
    return job === null ? null : planSetAside(project, job, job.spec, asked);
  };
  const stops = async () => (await readOwnStops(project.folder, made.job)).map(shortly);
  return { made, project, place: made.job, plan, stops, checkpoint: join(made.folder, "state.txt") };
}

/** `drain+word` names moves, `resume+void` voids such a word. */
function shortly({ kind, quarantine, voids }: Stop): string {
  return `${kind}${quarantine === undefined ? "" : "+word"}${voids === undefined ? "" : "+void"}`;
}

const stop = (kind: Stop["kind"], more: Partial<Stop> = {}): Stop => ({
  version: 1,
  nonce: randomUUID(),
  atMs: Date.now(),
  kind,
  by: "bob@there",
  ...more,
});

/** Bob's resume, and his claim of the next attempt, in whose submit he is. */
async function bobResumes(made: Project): Promise<void> {
  await createStop(made.files, made.job, stop("resume"));
  const folder = made.attemptFolder(2);
  fs.mkdirSync(folder);
  const claim = { version: 1, nonce: "c", atMs: Date.now(), by: thisProcess(), specRevision: 1, basis: "resume" };
  fs.writeFileSync(join(folder, "claim.json"), JSON.stringify({ ...claim, after: 1, notBeforeMs: null }));
}

/** The same project, where something happens right before the next stop is put on file. */
function before(project: ChainProject, happens: () => Promise<void>): ChainProject {
  let first = true;
  const { folder } = project;
  return {
    ...project,
    folder: {
      ...folder,
      async createOnce(path, content) {
        if (first && path.includes("/stops/")) {
          first = false;
          await happens();
        }
        return folder.createOnce(path, content);
      },
    },
  };
}

/** Moves of that file are refused by the file system. */
function refuseMoves(name: string): void {
  const refused = Object.assign(new Error("EACCES: permission denied, rename"), { code: "EACCES" });
  Object.assign(fs.promises, {
    rename: async (from: string, to: string) =>
      from.endsWith(`/${name}`) ? Promise.reject(refused) : real.rename(from, to),
  });
  syncBuiltinESMExports();
}

async function setAside(project: ChainProject, place: JobPlace, aside: SetAside): Promise<SetAside> {
  const job = await readJob(project.folder, place);
  if (job === null) throw new Error("there is no job");
  return setAsideOf(project, job, aside);
}

async function planned(plan: (asked: boolean) => Promise<SetAside | null>): Promise<SetAside> {
  const found = await plan(true);
  if (found === null) throw new Error("nothing is planned");
  return found;
}

async function refusal(doing: Promise<unknown>): Promise<StintError> {
  return doing.then(
    (done) => Promise.reject(new Error(`was not refused: ${JSON.stringify(done)}`)),
    (error: StintError) => error,
  );
}

test("refused for what came before it, it is never on file", async () => {
  const { made, project, place, plan, stops, checkpoint } = await atRest();
  const aside = await planned(plan);
  await bobResumes(made);
  expect(await refusal(setAside(project, place, aside))).toMatchObject({ code: "still-running" });
  expect(await stops()).toEqual(["resume"]);
  expect(fs.readFileSync(checkpoint, "utf8")).toBe("3\n");
});

test("refused for what came in between, it is void, and the chain that was going on goes on", async () => {
  const { made, project, place, plan, stops, checkpoint } = await atRest();
  const aside = await planned(plan);
  const error = await refusal(
    setAside(
      before(project, () => bobResumes(made)),
      place,
      aside,
    ),
  );
  expect(error).toMatchObject({ code: "still-running", message: expect.stringContaining("is not at rest") });
  // How far it has come by now is the machine's affair: attempt 2 may have met the word, been withdrawn, and be followed by attempt 3 in a moment.
  expect(error.hint).toMatch(
    /^nothing was moved, and nothing will be; \/tester\/count is (waiting|running|stranded) \(/,
  );
  expect(await stops()).toEqual(["resume", "drain+word", "resume+void"]);
  expect(fs.readFileSync(checkpoint, "utf8")).toBe("3\n");
  const job = await readJob(project.folder, place);
  expect(job?.stops.lists[0]?.ruling?.kind).toBe("resume");
});

test("where nothing could be moved it is void: a later resume without the option moves nothing", async () => {
  const { project, place, plan, stops, checkpoint } = await atRest();
  refuseMoves("state.txt");
  const error = await refusal(setAside(project, place, await planned(plan)));
  expect(error).toMatchObject({ code: "storage", message: expect.stringContaining("make it writable") });
  expect(error.hint).toMatch(
    /^nothing was moved, and nothing will be; \S+ is over \(.*\); to go on: stint resume \S+$/,
  );
  expect(await stops()).toEqual(["drain+word", "drain+void"]);
  Object.assign(fs.promises, real);
  syncBuiltinESMExports();
  expect(await plan(false)).toBeNull();
  expect(await resumeJob(project, place)).toMatchObject({ kind: "resumed", setAside: null });
  expect(fs.readFileSync(checkpoint, "utf8")).toBe("3\n");
});

test("void, it leaves a cancel in force that came before it", async () => {
  const { project, place, plan, stops } = await atRest();
  await createStop(project.folder, place, stop("cancel", { note: "by mistake" }));
  refuseMoves("state.txt");
  await refusal(setAside(project, place, await planned(plan)));
  expect(await stops()).toEqual(["cancel", "drain+word", "cancel+void"]);
  expect((await readOwnStops(project.folder, place)).at(-1)?.note).toBe("by mistake");
});

test("where some files were moved and others could not be, the next resume moves the rest, and says so", async () => {
  const { project, place, plan, stops, made } = await atRest(
    { checkpoint: { path: ".", progress: { kind: "files", glob: "c-*" } } },
    "for n in 8 9; do echo $n >c-$n-a; echo $n >c-$n-b; touch -d 2020-01-0$n c-$n-*; done; exit 76",
  );
  refuseMoves("c-9-b");
  const error = await refusal(setAside(project, place, await planned(plan)));
  expect(error.hint).toMatch(
    /^\S+\/c-9-a was moved to \S+; the next stint resume \S+ moves the rest first, and says so$/,
  );
  expect(await stops()).toEqual(["drain+word"]);
  Object.assign(fs.promises, real);
  syncBuiltinESMExports();
  const left = await plan(false);
  expect(left).toMatchObject({ state: "left", by: expect.stringMatching(/.@./) });
  if (left !== null) await setAside(project, place, left);
  expect(fs.readdirSync(made.folder).filter((name) => name.startsWith("c-"))).toEqual(["c-8-a", "c-8-b"]);
});

test("a file that was changed in between stays, the word is void, and what is there now can be set aside", async () => {
  const { project, place, plan, stops, checkpoint } = await atRest();
  const aside = await planned(plan);
  fs.writeFileSync(checkpoint, "4\n");
  expect(await refusal(setAside(project, place, aside))).toMatchObject({ code: "checkpoint" });
  expect(await stops()).toEqual(["drain+word", "drain+void"]);
  expect(fs.readFileSync(checkpoint, "utf8")).toBe("4\n");
  await setAside(project, place, await planned(plan));
  expect(fs.existsSync(checkpoint)).toBe(false);
});

test("a resume that knows nothing of it is refused while the files are being moved", async () => {
  const { project, place, plan, stops } = await atRest();
  const { quarantine } = await planned(plan);
  const ann = async () => {
    await createStop(project.folder, place, stop("drain", { quarantine }));
  };
  const error = await refusal(resumeJob(before(project, ann), place));
  expect(error).toMatchObject({
    code: "not-finished",
    message: expect.stringContaining("is being set aside at this moment"),
  });
  expect(await stops()).toEqual(["drain+word"]);
});

test("a resume above it ends it: nothing is moved after that, and it is said", async () => {
  const { project, place, plan, stops, checkpoint } = await atRest();
  const aside = await planned(plan);
  const other = before(project, async () => {});
  const { createOnce } = other.folder;
  const ended: ChainProject = {
    ...other,
    folder: {
      ...other.folder,
      async createOnce(path, content) {
        const answer = await createOnce(path, content);
        if (path.includes("/stops/0001")) await createStop(project.folder, place, stop("resume"));
        return answer;
      },
    },
  };
  const error = await refusal(setAside(ended, place, aside));
  expect(error.message).toContain("was resumed by somebody else at the same moment");
  expect(error.hint).toContain("nothing was moved, and nothing will be");
  expect(await stops()).toEqual(["drain+word", "resume"]);
  expect(fs.readFileSync(checkpoint, "utf8")).toBe("3\n");
});

test("two who say the same at once make the moves once, and neither overrules what came after", async () => {
  const { project, place, plan, stops, checkpoint } = await atRest();
  const aside = await planned(plan);
  // Bob makes the same moves and resumes, and somebody drains, while the first stands still in front of its move.
  Object.assign(fs.promises, {
    rename: async (from: string, to: string) => {
      Object.assign(fs.promises, real);
      syncBuiltinESMExports();
      await real.rename(from, aside.quarantine.moves[0]?.to ?? "");
      await createStop(project.folder, place, stop("resume", { quarantine: aside.quarantine }));
      await createStop(project.folder, place, stop("drain"));
      return real.rename(from, to);
    },
  });
  syncBuiltinESMExports();
  const result = await resumeJob(project, place, { quarantine: true });
  expect(result).toMatchObject({ kind: "resumed", status: { state: "over" } });
  expect(await stops()).toEqual(["drain+word", "resume+word", "drain"]);
  expect(fs.existsSync(checkpoint)).toBe(false);
});
