import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ProcessRef } from "../../src/core/index.ts";
import { aliveHere, findMembers, type Member, readStat, signalMembers, sweep, termAll } from "../../src/host/index.ts";
import { bash, eventually, numbersIn, own, start, temporaryFolder } from "./real-processes.ts";

const MARK = "STINT_LADDER_MARK";

function finder(root: ProcessRef, value: string): () => readonly Member[] {
  return () =>
    findMembers({ roots: [root], session: root.pid, mark: { name: MARK, value }, cgroup: null, exclude: [] });
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    // Not there yet.
    return 0;
  }
}

it("signals only the very process that was seen", () => {
  const ref = bash("sleep 1000; :");
  const later = { pid: ref.pid, startTicks: ref.startTicks + 1 };
  expect(signalMembers([later], "SIGKILL")).toEqual({ sent: [], gone: [ref.pid], refused: [] });
  expect(aliveHere(ref)).toBe("alive");
  expect(signalMembers([ref], "SIGKILL")).toEqual({ sent: [ref.pid], gone: [], refused: [] });
});

it("wakes a stopped process so that it can answer TERM", async () => {
  const file = join(temporaryFolder(), "saved");
  const ref = bash(`trap 'echo saved > ${file}; exit' TERM; echo 1 > ${file}; while :; do sleep 0.05; done`);
  await eventually("its trap", () => numbersIn(file, 1));
  process.kill(ref.pid, "SIGSTOP");
  await eventually("its stop", () => readStat(ref.pid)?.state === "T");
  signalMembers([ref], "SIGTERM");
  await eventually("its end", () => aliveHere(ref) === "gone");
  expect(readFileSync(file, "utf8")).toBe("saved\n");
});

it("brings TERM to the child of a shell that waits for it, to a stopped one and to one outside the group", async () => {
  const folder = temporaryFolder();
  const worker = (name: string) =>
    `perl -e '$SIG{TERM} = sub { open F, ">", "${folder}/${name}.term"; exit }; open F, ">", "${folder}/${name}"; print F "$$\\n"; close F; sleep 1 while 1'`;
  const leader = bash(`${worker("a")} & ${worker("b")} & setsid ${worker("c")} & wait`, { [MARK]: "term" });
  const workers = await eventually("all workers", () => {
    const pids = ["a", "b", "c"].map((name) => numbersIn(join(folder, name), 1)?.[0] ?? 0);
    return pids.every((pid) => pid > 0) ? pids : null;
  });
  for (const pid of workers) own(pid);
  process.kill(workers[1] ?? 0, "SIGSTOP");
  await eventually("the stop", () => readStat(workers[1] ?? 0)?.state === "T");
  const members = finder(leader, "term")();
  const result = termAll(members, leader);
  expect([...result.sent].sort()).toEqual([leader.pid, ...workers].sort());
  expect(await sweep({ find: finder(leader, "term"), graceMs: 20_000 })).toEqual([]);
  for (const name of ["a", "b", "c"]) expect(statSync(join(folder, `${name}.term`)).size).toBe(0);
});

it("lets members end by themselves within the grace, and kills what ignores TERM after it", async () => {
  const folder = temporaryFolder();
  const saves = bash(
    `trap 'sleep 0.3; echo done > ${folder}/saves; exit' TERM; echo 1 > ${folder}/ready; while :; do sleep 0.05; done`,
  );
  await eventually("the trap", () => numbersIn(join(folder, "ready"), 1));
  termAll(finder(saves, "none")(), saves);
  expect(await sweep({ find: finder(saves, "none"), graceMs: 20_000 })).toEqual([]);
  expect(readFileSync(join(folder, "saves"), "utf8")).toBe("done\n");

  const deaf = bash(`trap '' TERM; echo 1 > ${folder}/deaf; while :; do sleep 0.05; done`);
  await eventually("the deaf one", () => numbersIn(join(folder, "deaf"), 1));
  termAll(finder(deaf, "none")(), deaf);
  const beganAtMs = Date.now();
  expect(await sweep({ find: finder(deaf, "none"), graceMs: 300 })).toEqual([]);
  expect(Date.now() - beganAtMs).toBeGreaterThanOrEqual(300);
  expect(aliveHere(deaf)).toBe("gone");
});

it("hurries when asked to", async () => {
  const deaf = bash("trap '' TERM; while :; do sleep 0.05; done");
  const hurry = new AbortController();
  const swept = sweep({ find: finder(deaf, "none"), graceMs: 600_000, hurry: hurry.signal });
  hurry.abort();
  expect(await swept).toEqual([]);
});

it("ends a fork bomb that goes on forking while it is killed", async () => {
  const file = join(temporaryFolder(), "forks");
  // Bounded: no more than 600 forks in all, and every process ends by itself after 60 s.
  const script = `
    use POSIX; alarm 60; $SIG{CHLD} = "IGNORE"; $SIG{TERM} = "IGNORE";
    while (1) {
      if ((-s $ARGV[0] // 0) < 600) {
        open F, ">>", $ARGV[0]; syswrite F, "."; close F;
        if (!fork) { setsid(); alarm 60 }
      }
      select undef, undef, undef, 0.01;
    }`;
  const root = start(["perl", "-e", script, file], { [MARK]: "bomb" });
  await eventually("a hundred forks", () => sizeOf(file) >= 100);
  expect(await sweep({ find: finder(root, "bomb"), graceMs: 0, boundMs: 60_000 })).toEqual([]);
  const forks = sizeOf(file);
  expect(finder(root, "bomb")()).toEqual([]);
  expect(sizeOf(file)).toBe(forks);
});

it("ends two processes that restart each other", async () => {
  const folder = temporaryFolder();
  const script = join(folder, "pair.sh");
  writeFileSync(
    script,
    `peer=$1; while :; do if ! kill -0 "$peer" 2> /dev/null; then setsid bash ${script} $$ & peer=$!; echo $peer >> ${folder}/pids; fi; sleep 0.01; done`,
  );
  const root = start(["bash", script, "999999999"], { [MARK]: "pair" });
  await eventually("the other one", () => numbersIn(join(folder, "pids"), 1));
  expect(await sweep({ find: finder(root, "pair"), graceMs: 0 })).toEqual([]);
  const [peer = 0] = numbersIn(join(folder, "pids"), 1) ?? [];
  expect(peer).toBeGreaterThan(1);
  expect(readStat(peer)?.state ?? "gone").toMatch(/^(?:gone|Z)$/);
});

it("returns what it cannot end when the bound is over", async () => {
  const ref = bash("sleep 1000; :");
  const member = finder(ref, "none")()[0];
  if (member === undefined) throw new Error("no member");
  // Stands for a process in uninterruptible sleep: it is seen, and no signal reaches it.
  const immortal: Member = { ...member, startTicks: member.startTicks + 1 };
  expect(await sweep({ find: () => [immortal], graceMs: 0, boundMs: 200 })).toEqual([immortal]);
});
