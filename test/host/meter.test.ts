import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ProcessRef } from "../../src/core/index.ts";
import { aliveHere, findMembers, type MemberQuery, readStat, TreeMeter, type Usage } from "../../src/host/index.ts";
import { bash, eventually, own, start, temporaryFolder } from "./real-processes.ts";

function queryOf(root: ProcessRef, mark: string | null = null): MemberQuery {
  return {
    roots: [root],
    session: root.pid,
    mark: mark === null ? null : { name: "STINT_METER_MARK", value: mark },
    cgroup: null,
    exclude: [],
  };
}

/** Samples every 40 ms until the root has ended, checks that no counter goes down, and samples once more. */
async function samplesOf(meter: TreeMeter, root: ProcessRef): Promise<readonly Usage[]> {
  const samples: Usage[] = [];
  for (let nextAtMs = 0, ended = false; !ended; ) {
    await eventually("the next sample's time", () => Date.now() >= nextAtMs);
    nextAtMs = Date.now() + 40;
    ended = aliveHere(root) === "gone" && readStat(root.pid) === null;
    samples.push(meter.sample(ended));
  }
  samples.forEach((sample, at) => {
    const before = samples[at - 1];
    if (before === undefined) return;
    expect(sample.cpuMs).toBeGreaterThanOrEqual(before.cpuMs);
    expect(sample.memoryPeakBytes).toBeGreaterThanOrEqual(before.memoryPeakBytes);
    expect(sample.writtenBytes).toBeGreaterThanOrEqual(before.writtenBytes);
  });
  return samples;
}

/** What bash's `times` wrote: own and children, user and system, `0m0.120s` each. */
function timesMs(path: string): number {
  let sum = 0;
  for (const [, minutes, seconds] of readFileSync(path, "utf8").matchAll(/(\d+)m([\d.]+)s/g)) {
    sum += Number(minutes) * 60_000 + Number(seconds) * 1000;
  }
  return sum;
}

/** Within 5 % and 40 ms: clock ticks are cut off once for each process seen, and the shell's own end comes after `times`. */
function expectNear(measuredMs: number, trueMs: number): void {
  expect(Math.abs(measuredMs - trueMs)).toBeLessThan(trueMs * 0.05 + 40);
}

it("measures a busy loop", async () => {
  const file = join(temporaryFolder(), "times");
  const root = bash(`for ((i = 0; i < 400000; i++)); do :; done; times > ${file}`);
  const samples = await samplesOf(new TreeMeter({ query: queryOf(root) }), root);
  expectNear(samples.at(-1)?.cpuMs ?? 0, timesMs(file));
  expect(samples[0]?.processes).toBe(1);
  expect(samples.at(-1)?.processes).toBe(0);
  expect(samples[0]).toMatchObject({ cpuFrom: "tree", peakIsLowerBound: true });
  expect(samples.at(-1)?.memoryPeakBytes).toBeGreaterThan(500_000);
});

it("counts hundreds of children that no sample sees, once each", async () => {
  const file = join(temporaryFolder(), "times");
  const root = bash(
    `for ((i = 0; i < 400; i++)); do (:); /bin/true; done; bash -c 'for ((i = 0; i < 40; i++)); do /bin/true; done'; times > ${file}`,
  );
  const samples = await samplesOf(new TreeMeter({ query: queryOf(root) }), root);
  expect(samples.length).toBeGreaterThan(3);
  expectNear(samples.at(-1)?.cpuMs ?? 0, timesMs(file));
});

it("counts children that are seen and then waited for once, at every level", async () => {
  const file = join(temporaryFolder(), "times");
  const busy = "for ((j = 0; j < 60000; j++)); do :; done";
  const root = bash(`for i in 1 2 3; do bash -c '(${busy}) & (${busy}); wait; ${busy}'; done; times > ${file}`);
  const samples = await samplesOf(new TreeMeter({ query: queryOf(root) }), root);
  expect(Math.max(...samples.map((sample) => sample.processes))).toBeGreaterThanOrEqual(3);
  expectNear(samples.at(-1)?.cpuMs ?? 0, timesMs(file));
});

it("keeps the time of children that nobody waits for", async () => {
  // The kernel throws the time of children away where SIGCHLD is ignored: what was last seen is kept.
  const folder = temporaryFolder();
  const script = `$SIG{CHLD} = "IGNORE"; use POSIX;
    for my $n (1 .. 3) {
      if (!fork) { for (1 .. 4000000) {} my @t = times; open F, ">", "$ARGV[0]/$n"; print F ($t[0] + $t[1]); close F; _exit(0) }
    }
    1 while wait != -1; select undef, undef, undef, 0.2`;
  const root = start(["perl", "-e", script, folder]);
  const samples = await samplesOf(new TreeMeter({ query: queryOf(root) }), root);
  const trueMs = [1, 2, 3].reduce((sum, n) => sum + 1000 * Number(readFileSync(join(folder, String(n)), "utf8")), 0);
  expect(trueMs).toBeGreaterThan(100);
  // What each used after its last sample is lost (40 ms apart), and nothing is counted twice.
  expect(samples.at(-1)?.cpuMs).toBeGreaterThan(trueMs - 3 * 60);
  expect(samples.at(-1)?.cpuMs).toBeLessThan(trueMs * 1.05 + 60);
});

it("finds what has left the tree at a thorough look, and follows it from then on", async () => {
  const folder = temporaryFolder();
  const busy = "$SIG{USR1} = sub { exit }; open F, '>', $ENV{READY}; print F 1; close F; 1 while 1";
  const root = bash(`setsid bash -c 'setsid perl -e "$BUSY" & exit'; exec sleep 1000`, {
    STINT_METER_MARK: "stray",
    BUSY: busy,
    READY: join(folder, "ready"),
  });
  const query = queryOf(root, "stray");
  await eventually("the stray", () => existsSync(join(folder, "ready")) && readStat(root.pid)?.comm === "sleep");
  const meter = new TreeMeter({ query });
  expect(meter.sample().processes).toBe(1);
  expect(meter.sample(true).processes).toBe(2);
  const stray = findMembers(query).find((member) => member.how === "mark");
  if (stray === undefined) throw new Error("no stray");
  own(stray.pid);
  const busyNow = await eventually("its time", () => {
    const usage = meter.sample();
    return usage.cpuMs >= 200 ? usage : null;
  });
  process.kill(stray.pid, "SIGUSR1");
  const last = await eventually("its end", () => {
    const usage = meter.sample();
    return usage.processes === 1 ? usage : null;
  });
  expect(last.cpuMs).toBeGreaterThanOrEqual(busyNow.cpuMs);
  expect(last.cpuMs).toBeLessThan(2_000);
});

it("takes a process that left the tree between two looks along without a thorough one", async () => {
  const folder = temporaryFolder();
  const root = bash(`bash -c 'trap exit USR1; setsid sleep 1000 & echo $$ > ${folder}/middle; wait'; exec sleep 1000`);
  const middle = await eventually("the middle", () => {
    const text = readFileSync(join(folder, "middle"), { encoding: "utf8", flag: "a+" });
    return text === "" ? null : Number(text);
  });
  const meter = new TreeMeter({ query: queryOf(root) });
  await eventually("three processes", () => meter.sample().processes === 3);
  process.kill(middle, "SIGUSR1");
  await eventually("the middle's end", () => readStat(middle) === null);
  expect(meter.sample().processes).toBe(2);
});

it("counts bytes written to storage, or says nothing where there is none", async () => {
  const folder = temporaryFolder();
  const root = bash(`dd if=/dev/zero of=${folder}/data bs=1M count=4 conv=fsync 2> /dev/null; exec sleep 1000`);
  const meter = new TreeMeter({ query: queryOf(root) });
  await eventually("dd's end", () => readStat(root.pid)?.comm === "sleep");
  const { writtenBytes } = meter.sample();
  // A memory file system writes nothing to storage.
  expect([0, 4 * 1024 * 1024]).toContain(Math.floor(writtenBytes / 1048576) * 1048576);
});
