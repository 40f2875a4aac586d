import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Folder } from "../host/index.ts";
import { claimOwner, type JudgeOwner, readOwner, releaseOwner, stillOwner } from "./owner.ts";
import { type OwnerIdentity, ownerPlace } from "./owner-record.ts";

/** Files in memory; every call gives way to others first, in an order that the test decides. */
class MemoryFolder implements Folder {
  readonly files: Map<string, string>;
  readonly folders: Set<string>;
  readonly readOnly: Set<string>;
  readonly #giveWay: (what: string) => Promise<void>;

  /** `same`: another process's view of the same files. */
  constructor(giveWay: (what: string) => Promise<void> = async () => {}, same?: MemoryFolder) {
    this.files = same?.files ?? new Map();
    this.folders = same?.folders ?? new Set();
    this.readOnly = same?.readOnly ?? new Set();
    this.#giveWay = giveWay;
  }
  async read(path: string): Promise<string | null> {
    await this.#giveWay(`read ${path}`);
    return this.files.get(path) ?? null;
  }
  async list(path: string): Promise<readonly string[] | null> {
    await this.#giveWay(`list ${path}`);
    if (!this.folders.has(path)) return null;
    return [...this.files.keys()]
      .filter((file) => file.startsWith(`${path}/`))
      .map((file) => file.slice(path.length + 1));
  }
  async createOnce(path: string, content: string): Promise<{ readonly created: boolean; readonly content: string }> {
    await this.#giveWay(`create ${path}`);
    const folder = path.slice(0, path.lastIndexOf("/"));
    if (!this.folders.has(folder)) throw Object.assign(new Error(path), { code: "ENOENT" });
    if (this.readOnly.has(folder)) throw Object.assign(new Error(path), { code: "EROFS" });
    const there = this.files.get(path);
    if (there === undefined) this.files.set(path, content);
    return { created: there === undefined, content: there ?? content };
  }
  async makeFolder(path: string): Promise<void> {
    this.folders.add(path);
  }
  async replace(): Promise<void> {
    throw new Error("an owner record is never replaced");
  }
  async append(): Promise<void> {
    throw new Error("an owner record is never appended to");
  }
  async identity(): Promise<string | null> {
    throw new Error("an owner is known by its records, not by inodes");
  }
  async stamp(): Promise<string | null> {
    throw new Error("an owner is known by its records, not by their times");
  }
  async remove(): Promise<void> {
    throw new Error("an owner record is never removed");
  }
}

const PLACE = ownerPlace(
  { what: "file", path: "/data/state.txt", folder: "/data", name: "state.txt" },
  "/project/.stint",
);
const file = (number: number) => `/data/.state.txt.stint-owner.${number}.json`;

function task(name: string, taskIndex = 0): OwnerIdentity {
  return {
    jobUuid: `uuid-${name}`,
    jobFolder: `/project/.stint/jobs/me/${name}`,
    taskIndex,
    taskId: `/me/${name}/${taskIndex}`,
    by: name,
  };
}

const says =
  (answer: Awaited<ReturnType<JudgeOwner>>): JudgeOwner =>
  async () =>
    answer;
const never: JudgeOwner = async (owner) => {
  throw new Error(`nobody should be judged here: ${owner.taskId}`);
};

function memory(): MemoryFolder {
  const folder = new MemoryFolder();
  folder.folders.add("/data");
  return folder;
}

describe("the owner of a checkpoint", () => {
  it("the first to come owns it, and stays the owner without a new record", async () => {
    const folder = memory();
    expect(await readOwner(folder, PLACE)).toEqual({ kind: "none" });
    expect(await claimOwner(folder, PLACE, task("a"), never)).toEqual({ owned: true, number: 2, path: file(2) });
    expect(await claimOwner(folder, PLACE, task("a"), never)).toEqual({ owned: true, number: 2, path: file(2) });
    expect([...folder.files.keys()]).toEqual([file(1), file(2)]);
    expect(await stillOwner(folder, PLACE, task("a"))).toBe(true);
    expect(await stillOwner(folder, PLACE, task("b"))).toBe(false);
    expect(await stillOwner(folder, PLACE, task("a", 1))).toBe(false);
  });

  it.each([
    ["alive", "which is not over", "stint cancel a,"],
    ["unknown", "cannot be told from here", "stint status a"],
    ["gone-folder", "that folder is gone", "--take-checkpoint"],
  ] as const)("another task is refused while the owner is %s, and told what to do", async (answer, why, advice) => {
    const folder = memory();
    await claimOwner(folder, PLACE, task("a"), never);
    const claim = await claimOwner(folder, PLACE, task("b"), says(answer));
    expect(claim).toMatchObject({ owned: false, by: { taskId: "/me/a/0" } });
    if (claim.owned) return;
    expect(claim.why).toContain("/data/state.txt belongs to task a/0");
    expect(claim.why).toContain(why);
    expect(claim.why).toContain(advice);
    expect([...folder.files.keys()]).toEqual([file(1), file(2)]);
  });

  it("the owner of another project is named by its folder, and is not to be cancelled by a name that means nothing here", async () => {
    const folder = memory();
    const there = { ...task("a"), jobFolder: "/my runs/.stint/jobs/me/a" };
    await claimOwner(folder, PLACE, there, never);
    const claim = await claimOwner(folder, PLACE, task("b"), says("alive"));
    expect(claim.owned ? "" : claim.why).toContain("look with: STINT_DIR='/my runs/.stint' stint status a, or use");
    expect(claim.owned ? "" : claim.why).not.toContain("stint cancel");
  });

  it("another task takes over when the owner is over, and the one before is no longer the owner", async () => {
    const folder = memory();
    await claimOwner(folder, PLACE, task("a"), never);
    expect(await claimOwner(folder, PLACE, task("b"), says("over"))).toEqual({ owned: true, number: 4, path: file(4) });
    expect(await stillOwner(folder, PLACE, task("a"))).toBe(false);
    expect(await claimOwner(folder, PLACE, task("a"), says("alive"))).toMatchObject({ owned: false });
  });

  it("a person's word takes the checkpoint of a job whose folder is gone, and only of such a one; the word is on file", async () => {
    const folder = memory();
    await claimOwner(folder, PLACE, task("a"), never);
    expect(await claimOwner(folder, PLACE, task("b"), says("alive"), { takenBy: "ann" })).toMatchObject({
      owned: false,
    });
    expect(await claimOwner(folder, PLACE, task("b"), says("gone-folder"), { takenBy: "ann" })).toMatchObject({
      owned: true,
    });
    expect(JSON.parse(folder.files.get(file(4)) ?? "")).toMatchObject({
      taken: { from: "/project/.stint/jobs/me/a", by: "ann" },
    });
    // Later claims of the new owner do not ask about the one before again.
    expect(await claimOwner(folder, PLACE, task("b"), never)).toMatchObject({ owned: true, number: 4 });
  });

  it("a released checkpoint is free, and only its owner can release it", async () => {
    const folder = memory();
    await claimOwner(folder, PLACE, task("a"), never);
    expect(await releaseOwner(folder, PLACE, task("b"))).toBe(false);
    expect(await releaseOwner(folder, PLACE, task("a"))).toBe(true);
    expect(await readOwner(folder, PLACE)).toMatchObject({ kind: "released" });
    expect(await claimOwner(folder, PLACE, task("b"), never)).toMatchObject({ owned: true, number: 5 });
    expect(await releaseOwner(folder, PLACE, task("a"))).toBe(false);
  });

  it("a chain that was over links a new number before it goes on", async () => {
    const folder = memory();
    await claimOwner(folder, PLACE, task("a"), never);
    expect(await claimOwner(folder, PLACE, task("a"), never, { renew: true })).toMatchObject({
      owned: true,
      number: 3,
    });
  });

  it("an owner that comes to life while it is taken over gets its checkpoint back", async () => {
    const folder = memory();
    await claimOwner(folder, PLACE, task("a"), never);
    const answers = ["over", "alive"] as const;
    let asked = 0;
    const claim = await claimOwner(folder, PLACE, task("b"), async () => answers[asked++] ?? "alive");
    expect(claim).toMatchObject({ owned: false, by: { taskId: "/me/a/0" } });
    expect(await stillOwner(folder, PLACE, task("a"))).toBe(true);
    expect(await stillOwner(folder, PLACE, task("b"))).toBe(false);
  });

  it("a claim whose maker died halfway owns nothing and hides nobody: the owner below it is looked at as well", async () => {
    const folder = memory();
    await claimOwner(folder, PLACE, task("a"), never);
    // b dies between its two records, at the second look.
    let asked = 0;
    const dying = claimOwner(folder, PLACE, task("b"), async () => {
      if (asked++ > 0) throw new Died();
      return "over";
    });
    await expect(dying).rejects.toThrow(Died);
    expect(await readOwner(folder, PLACE)).toMatchObject({
      kind: "task",
      record: { jobUuid: "uuid-b", state: "claiming" },
    });
    expect(await stillOwner(folder, PLACE, task("b"))).toBe(false);
    expect(await stillOwner(folder, PLACE, task("a"))).toBe(false);
    const onlyAIsAlive: JudgeOwner = async (owner) => (owner.jobUuid === "uuid-a" ? "alive" : "over");
    expect(await claimOwner(folder, PLACE, task("c"), onlyAIsAlive)).toMatchObject({
      owned: false,
      by: { jobUuid: "uuid-a" },
    });
    // The owner takes it back, or the one who claimed goes on, with a look at the owner.
    expect(await claimOwner(folder, PLACE, task("b"), onlyAIsAlive)).toMatchObject({
      owned: false,
      by: { jobUuid: "uuid-a" },
    });
    expect(await stillOwner(folder, PLACE, task("a"))).toBe(true);
  });

  it.each([
    ["{", "it is not JSON"],
    ["", "it is empty"],
    ["[]", "a field is missing"],
    ['{"version":99}', "newer stint"],
  ])("a record %j that cannot be read makes nobody the owner", async (text, why) => {
    const folder = memory();
    folder.files.set(file(1), text);
    if (text === "") {
      // An empty record is waited for, since somebody may be writing it.
      const writing = claimOwner(folder, PLACE, task("b"), says("over"));
      await new Promise((resolve) => setTimeout(resolve, 5));
      await new MemoryFolderWriter(folder).fill(file(1), task("a"));
      expect(await writing).toMatchObject({ owned: true, number: 3 });
      return;
    }
    const claim = await claimOwner(folder, PLACE, task("b"), never);
    expect(claim).toMatchObject({ owned: false, by: null });
    expect(claim.owned ? "" : claim.why).toContain(why);
    expect(claim.owned ? "" : claim.why).toContain(file(1));
    expect(await stillOwner(folder, PLACE, task("a"))).toBe(false);
  });

  it("foreign files beside it are passed over", async () => {
    const folder = memory();
    for (const name of ["7.json~", "07.json", "x.json", "3.json.bak"])
      folder.files.set(`/data/.state.txt.stint-owner.${name}`, "x");
    folder.files.set("/data/.state.txt2.stint-owner.9.json", "x");
    expect(await claimOwner(folder, PLACE, task("a"), never)).toMatchObject({ owned: true, number: 2 });
  });
});

describe("where the records lie", () => {
  it("in the project folder while the checkpoint's folder is missing, beside it as soon as it is there", async () => {
    const folder = new MemoryFolder();
    const claim = await claimOwner(folder, PLACE, task("a"), never);
    expect(claim.owned && claim.path).toMatch(/^\/project\/\.stint\/checkpoints\/[0-9a-f]{32}\.2\.json$/);
    folder.folders.add("/data");
    expect(await claimOwner(folder, PLACE, task("b"), says("alive"))).toMatchObject({ owned: false });
    expect(await claimOwner(folder, PLACE, task("a"), never)).toEqual({ owned: true, number: 1, path: file(1) });
    expect(await claimOwner(folder, PLACE, task("b"), says("alive"))).toMatchObject({ owned: false });
  });

  it("in the project folder where the checkpoint's folder is read-only, with regard to what lies beside it", async () => {
    const folder = memory();
    await claimOwner(folder, PLACE, task("a"), never);
    folder.readOnly.add("/data");
    expect(await claimOwner(folder, PLACE, task("b"), says("alive"))).toMatchObject({ owned: false });
    const claim = await claimOwner(folder, PLACE, task("b"), says("over"));
    expect(claim.owned && claim.path).toMatch(/^\/project\/\.stint\/checkpoints\//);
    expect(await stillOwner(folder, PLACE, task("b"))).toBe(true);
    expect(await stillOwner(folder, PLACE, task("a"))).toBe(false);
    // Once it can be written again the row beside it goes on, and what lies in the project folder is history.
    folder.readOnly.delete("/data");
    expect(await claimOwner(folder, PLACE, task("c"), says("over"))).toEqual({ owned: true, number: 4, path: file(4) });
    expect(await stillOwner(folder, PLACE, task("b"))).toBe(false);
    expect(await claimOwner(folder, PLACE, task("c"), never)).toMatchObject({ owned: true, number: 4 });
    expect(await releaseOwner(folder, PLACE, task("c"))).toBe(true);
    expect(await readOwner(folder, PLACE)).toMatchObject({ kind: "released" });
  });

  it("under a short name where the checkpoint's own is too long for one more", () => {
    const name = "x".repeat(250);
    const place = ownerPlace({ what: "file", path: `/data/${name}`, folder: "/data", name }, "/project/.stint");
    expect(place.beside.prefix.length).toBeLessThan(100);
  });
});

/** Fills an empty record as a writer without hard links would. */
class MemoryFolderWriter {
  readonly #folder: MemoryFolder;
  constructor(folder: MemoryFolder) {
    this.#folder = folder;
  }
  async fill(path: string, me: OwnerIdentity): Promise<void> {
    const other = memory();
    await claimOwner(other, PLACE, me, never);
    this.#folder.files.set(path, other.files.get(file(1)) ?? "");
  }
}

describe("in any order of events", () => {
  it("of several tasks at once one owns the checkpoint, also when its folder appears or becomes read-only meanwhile", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.constantFrom("there", "missing", "read-only"),
        fc.boolean(),
        async (scheduler, start, changes) => {
          const folder = new MemoryFolder((what) => scheduler.schedule(Promise.resolve(), what));
          if (start !== "missing") folder.folders.add("/data");
          if (start === "read-only") folder.readOnly.add("/data");
          const names = ["a", "b", "c"];
          const claims = names.map((name) => claimOwner(folder, PLACE, task(name), says("alive")));
          if (changes)
            void scheduler.schedule(Promise.resolve(), "change").then(() => {
              folder.folders.add("/data");
              folder.readOnly.delete("/data");
            });
          await scheduler.waitFor(Promise.all(claims));
          const answers = await Promise.all(claims);
          expect(answers.filter((answer) => answer.owned).length).toBeLessThanOrEqual(1);
          if (!changes) expect(answers.filter((answer) => answer.owned)).toHaveLength(1);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("owners that resume and tasks that take over never run together, also when some die on the way", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.boolean(),
        fc.array(
          fc.record({ name: fc.constantFrom("a", "b", "c"), renew: fc.boolean(), diesAfter: fc.option(fc.nat(25)) }),
          {
            minLength: 2,
            maxLength: 5,
          },
        ),
        async (scheduler, missing, starts) => {
          const files = new MemoryFolder();
          if (!missing) files.folders.add("/data");
          await claimOwner(files, PLACE, task("a"), never);
          // A chain is alive from the moment its `go` is linked, which is before it reads the owner, to its end.
          const alive = new Map<string, number>();
          let running = 0;
          let together = 0;
          const start = async (name: string, renew: boolean, diesAfter: number | null): Promise<void> => {
            const me = task(name);
            let calls = 0;
            const step = async (what: string): Promise<void> => {
              // A process that died never answers; the others go on.
              if (diesAfter !== null && calls++ >= diesAfter) throw new Died();
              await scheduler.schedule(Promise.resolve(), what);
            };
            const folder = new MemoryFolder(step, files);
            const judge: JudgeOwner = async (owner) => {
              await step("judge");
              return (alive.get(owner.jobUuid) ?? 0) > 0 ? "alive" : "over";
            };
            const claim = await claimOwner(folder, PLACE, me, judge, { renew });
            if (!claim.owned) return;
            await step("go");
            // Two attempts of one chain are kept apart by the chain itself.
            if ((alive.get(me.jobUuid) ?? 0) > 0) return;
            alive.set(me.jobUuid, 1);
            // From here on a dead one would have to be proved over; it counts as alive.
            if (!(await stillOwner(folder, PLACE, me))) {
              alive.set(me.jobUuid, 0);
              return;
            }
            together = Math.max(together, ++running);
            // Long enough for another one to come all the way.
            for (let i = 0; i < 15; i++) await scheduler.schedule(Promise.resolve(), "the application runs");
            running--;
            alive.set(me.jobUuid, 0);
          };
          const all = Promise.allSettled(starts.map(({ name, renew, diesAfter }) => start(name, renew, diesAfter)));
          void scheduler
            .schedule(Promise.resolve(), "somebody makes the folder")
            .then(() => files.folders.add("/data"));
          await scheduler.waitFor(all);
          for (const end of await all) if (end.status === "rejected" && !(end.reason instanceof Died)) throw end.reason;
          expect(together).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 500 },
    );
  });
});

class Died extends Error {}
