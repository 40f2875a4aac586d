import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ProcessRef } from "../../src/core/index.ts";
import {
  cgroupCpu,
  cgroupMemory,
  cgroupOomKills,
  findMembers,
  ownCgroup,
  pidsInCgroup,
  readStat,
  slurmTracking,
  sweep,
  TreeMeter,
} from "../../src/host/index.ts";
import { afterwards, bash, eventually, temporaryFolder } from "./real-processes.ts";

const name = `/slurm_stint-test-${process.pid}/uid_0/job_7`;

/** Where a group can be made here: one folder a hierarchy; empty where that is not allowed. */
function makeGroups(): readonly string[] {
  const mounts = execFileSync("findmnt", ["-rn", "-t", "cgroup,cgroup2", "-o", "TARGET"], { encoding: "utf8" });
  const folders: string[] = [];
  for (const mount of mounts.split("\n")) {
    if (!/(?:freezer|memory|cpuacct|unified|cgroup)$/.test(mount)) continue;
    const folder = `${mount}${name}`;
    try {
      mkdirSync(folder, { recursive: true });
      folders.push(folder);
    } catch {
      // Not ours to make (not root, or mounted read-only).
    }
  }
  afterwards(() => {
    for (const folder of folders) {
      for (const below of [join(folder, "step_batch"), folder, join(folder, ".."), join(folder, "../..")]) {
        if (existsSync(below)) rmdirSync(below);
      }
    }
  });
  return folders;
}

/** A process that is in the groups before it does anything. */
async function startIn(groups: readonly string[], work: string): Promise<ProcessRef> {
  const gate = join(temporaryFolder(), "gate");
  execFileSync("mkfifo", [gate]);
  const root = bash(`read line < ${gate}; ${work}`);
  for (const group of groups) writeFileSync(join(group, "cgroup.procs"), String(root.pid));
  writeFileSync(gate, "go\n");
  return root;
}

it("finds, measures and sweeps by a job's group, with what hides from everything else", async () => {
  const groups = makeGroups();
  if (groups.length === 0) return console.log("skipped: no control group can be made here");
  for (const group of groups) mkdirSync(join(group, "step_batch"));
  const file = join(temporaryFolder(), "times");
  const meterQuery = { roots: [], session: null, mark: null, cgroup: name, exclude: [] };
  const meter = new TreeMeter({ query: meterQuery });
  const steps = groups.map((group) => join(group, "step_batch"));
  const root = await startIn(
    steps,
    `for ((i = 0; i < 300000; i++)); do :; done; for ((i = 0; i < 100; i++)); do /bin/true; done; times > ${file}
     (env -i setsid sleep 1000 &); exec sleep 1000`,
  );
  const hidden = await eventually("the hidden one", () => {
    const others = pidsInCgroup(name).filter((pid) => pid !== root.pid && readStat(pid)?.comm === "sleep");
    return others.length === 1 && readStat(root.pid)?.comm === "sleep" ? (others[0] ?? null) : null;
  });
  const members = findMembers(meterQuery, "tree");
  expect(Object.fromEntries(members.map((member) => [member.pid, member.how]))).toEqual({
    [root.pid]: "cgroup",
    [hidden]: "cgroup",
  });

  expect(slurmTracking(root.pid)).toEqual({ tracking: "cgroup", cgroup: name });
  expect(ownCgroup(root.pid)).toBe(`${name}/step_batch`);

  const cpu = cgroupCpu(name);
  if (cpu !== null) {
    let trueMs = 0;
    for (const [, minutes, seconds] of readFileSync(file, "utf8").matchAll(/(\d+)m([\d.]+)s/g)) {
      trueMs += Number(minutes) * 60_000 + Number(seconds) * 1000;
    }
    const usage = meter.sample();
    expect(usage.cpuFrom).toBe("cgroup");
    expect(Math.abs(usage.cpuMs - trueMs)).toBeLessThan(trueMs * 0.05 + 30);
    expect(usage.cpuMs).toBeLessThanOrEqual(cpu.userMs + cpu.systemMs + 50);
  }
  const memory = cgroupMemory(name);
  if (memory !== null) {
    expect(memory.currentBytes).toBeGreaterThan(0);
    expect(memory.peakBytes ?? memory.currentBytes).toBeGreaterThanOrEqual(memory.currentBytes);
    expect(cgroupOomKills(name)).toBe(0);
    expect(meter.sample().peakIsLowerBound).toBe(memory.peakBytes === null);
  }
  expect(await sweep({ find: () => findMembers(meterQuery), graceMs: 0 })).toEqual([]);
  expect(readStat(hidden)?.state ?? "gone").toMatch(/^(?:gone|Z)$/);
  await eventually("the empty group", () => pidsInCgroup(name).length === 0);
});

it("says other where no group of a job confines this process, and knows no group that is not there", () => {
  const own = ownCgroup();
  expect(typeof own).toBe("string");
  if (!/slurm/.test(own ?? "")) expect(slurmTracking()).toEqual({ tracking: "other", cgroup: null });
  expect(pidsInCgroup("/no/such/group")).toEqual([]);
  expect(cgroupCpu("/no/such/group")).toBeNull();
  expect(cgroupMemory("/no/such/group")).toBeNull();
  expect(cgroupOomKills("/no/such/group")).toBeNull();
  // The root is everybody's: taking it for an attempt's would sweep the machine.
  expect(pidsInCgroup("/")).toEqual([]);
  expect(cgroupCpu("/")).toBeNull();
});
