import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import type { ProcessRef } from "../../src/core/index.ts";
import {
  doubtsAbout,
  findMembers,
  type MemberQuery,
  readEnvironment,
  readStat,
  subreaperPrefix,
} from "../../src/host/index.ts";
import { bash, eventually, numbersIn, own, start, temporaryFolder } from "./real-processes.ts";

const MARK = "STINT_TEST_MARK";
let value = "";
let pidFile = "";
let rounds = 0;

beforeEach(() => {
  value = `${process.pid}.${++rounds}`;
  pidFile = join(temporaryFolder(), "pids");
});

function query(root: ProcessRef, more: Partial<MemberQuery> = {}): MemberQuery {
  return { roots: [root], session: root.pid, mark: { name: MARK, value }, cgroup: null, exclude: [], ...more };
}

/** Starts a script that writes pids, one a line, to $PIDS; the root and the pids, once all are there. */
async function family(
  script: string,
  count: number,
  prefix: readonly string[] = [],
): Promise<[ProcessRef, ...number[]]> {
  const root = start([...prefix, "bash", "-c", script], { PIDS: pidFile, [MARK]: value });
  const pids = await eventually(`${count} pids`, () => numbersIn(pidFile, count));
  for (const pid of pids) own(pid);
  return [root, ...pids];
}

function howOf(members: ReturnType<typeof findMembers>): Record<number, string> {
  return Object.fromEntries(members.map((member) => [member.pid, member.how]));
}

it("finds root, children and grandchildren in both forms", async () => {
  const [root, child = 0, grandchild = 0] = await family(
    `bash -c 'echo $$ >> $PIDS; sleep 1000 & echo $! >> $PIDS; wait' & wait`,
    2,
  );
  for (const form of ["tree", "thorough"] as const) {
    expect(howOf(findMembers(query(root), form))).toEqual({
      [root.pid]: "root",
      [child]: "session",
      [grandchild]: "session",
    });
    expect(
      findMembers(query(root, { session: null }), form)
        .map((member) => member.pid)
        .sort(),
    ).toEqual([root.pid, child, grandchild].sort());
  }
});

it("takes a mark in another job's environment for nothing, unless the process is ours by descent", async () => {
  const [root] = await family("echo $$ >> $PIDS; sleep 1000 & wait", 1);
  const marked = { [MARK]: value, TEST_ORIGIN: "7" };
  const jobs = { same: { TEST_JOB: "7" }, other: { TEST_JOB: "8" }, none: {} };
  const of = Object.fromEntries(
    Object.entries(jobs).map(([name, job]) => [name, start(["sleep", "1000"], { ...marked, ...job }).pid]),
  );
  const before = start(["sleep", "1000"], { [MARK]: value, TEST_JOB: "8" }).pid;
  await eventually("their environments", () => Object.values(of).every((pid) => showsMark(pid)) && showsMark(before));
  const anchored = { mark: { name: MARK, value, anchor: { now: "TEST_JOB", origin: "TEST_ORIGIN" } } };
  const found = howOf(findMembers(query(root, anchored)));
  expect(found).toMatchObject({ [of.same ?? 0]: "mark", [before]: "mark" });
  expect(Object.keys(found)).not.toContain(String(of.other));
  expect(Object.keys(found)).not.toContain(String(of.none));
  // What the attempt itself has started stays its own, whatever it calls itself.
  const roots = [root, of.other ?? 0];
  expect(howOf(findMembers(query(root, { ...anchored, roots })))).toMatchObject({ [of.other ?? 0]: "root" });
});

function showsMark(pid: number): boolean {
  const read = readEnvironment(pid);
  return read !== "unreadable" && read(MARK) === value;
}

it("finds what has left session and parents by its mark", async () => {
  const [root, stray = 0] = await family(`setsid bash -c 'setsid sleep 1000 & echo $! >> $PIDS' & wait; sleep 1000`, 1);
  await eventually(
    "the stray to lose its parents",
    () => ![root.pid].includes(readStat(stray)?.parent ?? root.pid) && readStat(stray)?.session === stray,
  );
  expect(findMembers(query(root), "tree").map((member) => member.pid)).not.toContain(stray);
  expect(howOf(findMembers(query(root)))[stray]).toBe("mark");
  expect(findMembers(query(root, { mark: { name: MARK, value: value.slice(0, -1) } })).map((m) => m.pid)).not.toContain(
    stray,
  );
  expect(findMembers(query(root, { mark: { name: MARK.slice(1), value } })).map((m) => m.pid)).not.toContain(stray);
});

it("finds a child with an empty environment by session and by descent, also below a stray", async () => {
  const [root, inside = 0, stray = 0, below = 0] = await family(
    `env -i sleep 1000 & echo $! >> $PIDS
     setsid bash -c 'echo $$ >> $0; env -i setsid sleep 1000 & echo $! >> $0; wait' $PIDS & wait`,
    3,
  );
  await eventually("the sessions", () => readStat(below)?.session === below && readStat(below)?.parent === stray);
  const found = howOf(findMembers(query(root)));
  expect(found).toEqual({ [root.pid]: "root", [inside]: "session", [stray]: "mark", [below]: "descendant" });
});

it("keeps orphans below a subreaper, after setsid, a double fork and an empty environment", async () => {
  const prefix = subreaperPrefix();
  if (prefix.length === 0) return console.log("skipped: no perl here");
  const [root, orphan = 0] = await family(
    `setsid bash -c 'env -i setsid sleep 1000 & echo $! >> $PIDS'; sleep 1000`,
    1,
    prefix,
  );
  await eventually("the adoption", () => readStat(orphan)?.parent === root.pid && readStat(orphan)?.session === orphan);
  for (const form of ["tree", "thorough"] as const)
    expect(howOf(findMembers(query(root), form))[orphan]).toBe("descendant");
});

it("finds a process that rewrote its title over its environment", async () => {
  const [root, titled = 0] = await family(
    `perl -e '$0 = "x" x 3000; open F, ">>", $ENV{PIDS}; print F "$$\\n"; close F; sleep 1000' & wait`,
    1,
  );
  const read = readEnvironment(titled);
  expect(read === "unreadable" ? "unreadable" : read(MARK)).toBeNull();
  expect(howOf(findMembers(query(root)))[titled]).toBe("session");
});

it("finds a stopped process, and no zombie", async () => {
  const [root, stopped = 0, zombie = 0] = await family(
    `sleep 1000 & echo $! >> $PIDS; kill -STOP $!
     exec perl -e 'my $p = fork; exit if !$p; open F, ">>", $ENV{PIDS}; print F "$p\\n"; close F; sleep 1000'`,
    2,
  ).catch(async () => {
    throw new Error("the zombie ended before it was seen");
  });
  await eventually("the states", () => readStat(stopped)?.state === "T" && readStat(zombie)?.state === "Z");
  const members = findMembers(query(root));
  expect(members.find((member) => member.pid === stopped)?.state).toBe("T");
  expect(members.map((member) => member.pid)).not.toContain(zombie);
  expect(members).toHaveLength(2);
});

it("finds children of a thread that is not the first", async () => {
  const script = `
    const { Worker } = require("node:worker_threads");
    new Worker('const c = require("child_process").spawn("sleep", ["1000"], { detached: true, env: {} });'
      + 'require("fs").writeFileSync(process.env.PIDS, c.pid + "\\\\n"); setInterval(() => {}, 1000)', { eval: true });`;
  const root = start([process.execPath, "-e", script], { PIDS: pidFile, [MARK]: value });
  const [child = 0] = await eventually("the child", () => numbersIn(pidFile, 1));
  own(child);
  expect(howOf(findMembers(query(root), "tree"))[child]).toBe("descendant");
});

it("leaves other attempts alone, with all below them, however they are reached", async () => {
  const [root, foreign = 0, below = 0] = await family(
    `${MARK}=other bash -c 'echo $$ >> $PIDS; env -i sleep 1000 & echo $! >> $PIDS; wait' & wait`,
    2,
  );
  for (const form of ["tree", "thorough"] as const) {
    const pids = findMembers(query(root, { session: null }), form).map((member) => member.pid);
    expect(pids).not.toContain(foreign);
    expect(pids).not.toContain(below);
    expect(pids).toContain(root.pid);
  }
});

it("asks for the values beside the mark", async () => {
  const ours = bash("sleep 1000; :", { [MARK]: value, SLURM_JOB_ID: "7" });
  const theirs = bash("sleep 1000; :", { [MARK]: value, SLURM_JOB_ID: "8" });
  const without = bash("sleep 1000; :", { [MARK]: value });
  const found = await eventually("ours and its child", () => {
    const now = findMembers({ ...query(ours), roots: [], session: null, alsoEnv: { SLURM_JOB_ID: "7" } }).map(
      (m) => m.pid,
    );
    return now.includes(ours.pid) && now.length === 2 ? now : null;
  });
  expect(found).not.toContain(theirs.pid);
  expect(found).not.toContain(without.pid);
});

it("never names pid 1, itself, or what is excluded", async () => {
  const [root, child = 0, grandchild = 0] = await family(
    `bash -c 'echo $$ >> $PIDS; sleep 1000 & echo $! >> $PIDS; wait' & wait`,
    2,
  );
  const pids = (more: Partial<MemberQuery>) =>
    findMembers(query(root, more))
      .map((member) => member.pid)
      .sort();
  expect(pids({ exclude: [child] })).toEqual([root.pid, grandchild].sort());
  expect(pids({ excludeTrees: [child] })).toEqual([root.pid]);
  const everything = findMembers({ ...query(root), roots: [1, process.pid] });
  expect(everything.map((member) => member.pid)).not.toContain(1);
  expect(everything.map((member) => member.pid)).not.toContain(process.pid);
  expect(everything.map((member) => member.pid)).toContain(root.pid);
});

it("passes over a root whose pid has been taken by a later process", () => {
  const ref = bash("sleep 1000; :");
  const earlier = { ...ref, startTicks: ref.startTicks - 1 };
  expect(findMembers({ ...query(earlier), mark: null })).toEqual([]);
  expect(findMembers({ ...query(ref), mark: null })[0]?.pid).toBe(ref.pid);
});

/** A leader that ends at once, and what it has left in its session: `left` writes the pids. */
async function leaderless(left: string, count: number, mark = value): Promise<[ProcessRef, ...number[]]> {
  const root = start(["bash", "-c", `${left}; read -r < "$GATE"`], { PIDS: pidFile, GATE: gate(), [MARK]: mark });
  const pids = await eventually(`${count} pids`, () => numbersIn(pidFile, count));
  for (const pid of pids) own(pid);
  writeFileSync(gate(), "\n");
  await eventually("the leader's end", () => readStat(root.pid) === null);
  return [root, ...pids];
}

function gate(): string {
  const path = `${pidFile}.gate`;
  if (!existsSync(path)) execFileSync("mkfifo", [path]);
  return path;
}

it("finds a whole session without its leader by one process in it that is ours", async () => {
  const [root, bare = 0, marked = 0] = await leaderless(
    "env -i sleep 1000 & echo $! >> $PIDS; sleep 1000 & echo $! >> $PIDS",
    2,
  );
  expect(howOf(findMembers(query(root)))).toEqual({ [bare]: "session", [marked]: "session" });
  expect(doubtsAbout(query(root))).toEqual([]);
});

it("finds a whole session without its leader by one process in it that is below ours", async () => {
  const [root, bare = 0, child = 0] = await leaderless(
    "env -i sleep 1000 & echo $! >> $PIDS; env -i sleep 1000 & echo $! >> $PIDS",
    2,
  );
  expect(howOf(findMembers(query(root, { roots: [root, child] })))).toEqual({ [bare]: "session", [child]: "root" });
});

it("leaves a session alone whose number was given away after its leader's end, and doubts what may be ours", async () => {
  const [stranger, other = 0, another = 0] = await leaderless(
    "env -i sleep 1000 & echo $! >> $PIDS; env -i sleep 1000 & echo $! >> $PIDS",
    2,
    "other",
  );
  // As it looks when the number was ours before: our leader began earlier, and is gone as well.
  const ours = { ...stranger, startTicks: stranger.startTicks - 1 };
  expect(findMembers(query(ours))).toEqual([]);
  expect([...doubtsAbout(query(ours))].sort()).toEqual([other, another].sort());
  expect(findMembers(query(ours, { sessionLedUntilTicks: ours.startTicks }))).toEqual([]);
  // What began before our leader's end can only be ours.
  const began = Math.max(...[other, another].map((pid) => readStat(pid)?.startTicks ?? 0));
  const found = findMembers(query(ours, { sessionLedUntilTicks: began }));
  expect(found.map(({ pid }) => pid).sort()).toEqual([other, another].sort());
});

it("neither doubts nor takes another attempt's process in such a session", async () => {
  const [stranger, theirs = 0] = await leaderless("sleep 1000 & echo $! >> $PIDS", 1, "other");
  expect(readStat(theirs)?.session).toBe(stranger.pid);
  expect(findMembers(query(stranger))).toEqual([]);
  expect(doubtsAbout(query(stranger))).toEqual([]);
});

it("takes nobody with another mark for a member, not even in the middle of an exec", async () => {
  const loop = join(temporaryFolder(), "again.sh");
  writeFileSync(loop, 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; exec sh "$0"\n');
  // A descendant of the root by parentage, as the next attempt's first process is of the one that submitted it.
  const script = `${MARK}=another sh ${loop} & echo $! >>"$PIDS"; wait`;
  const [root, other] = await family(script, 1);
  for (let look = 0; look < 300; look++)
    expect(
      findMembers(query(root)).map(({ pid }) => pid),
      `look ${look}`,
    ).not.toContain(other);
});
