import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  aliveHere,
  clockTicksPerSecond,
  pageBytes,
  processRef,
  readCommandLine,
  readStat,
  thisMachine,
  thisProcess,
} from "../../src/host/index.ts";
import { bash, eventually, numbersIn, own, start, temporaryFolder } from "./real-processes.ts";

it("knows this machine and this process", () => {
  const machine = thisMachine();
  expect(machine.host).toBe(execFileSync("uname", ["-n"], { encoding: "utf8" }).trim());
  expect(machine.bootId).toBe(readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  expect(machine.pidNamespace).toMatch(/^pid:\[\d+\]$/);
  expect(machine.machineId).toMatch(/^(?:[0-9a-f]{32}|boot-.+)$/);
  expect(thisProcess()).toMatchObject({ ...machine, pid: process.pid });
  expect(aliveHere(thisProcess())).toBe("alive");
});

it("reads clock tick and page size as getconf does", () => {
  const getconf = (name: string) => Number(execFileSync("getconf", [name], { encoding: "utf8" }));
  expect(clockTicksPerSecond()).toBe(getconf("CLK_TCK"));
  expect(pageBytes()).toBe(getconf("PAGESIZE"));
});

it("says nothing about other machines, and gone for another boot of this one", () => {
  const self = thisProcess();
  expect(aliveHere({ ...self, host: "elsewhere" })).toBe("elsewhere");
  expect(aliveHere({ ...self, machineId: "0".repeat(32) })).toBe("elsewhere");
  expect(aliveHere({ ...self, pidNamespace: "pid:[1]" })).toBe("elsewhere");
  expect(aliveHere({ ...self, bootId: "another" })).toBe("gone");
  expect(aliveHere({ ...self, bootId: "another", host: "elsewhere" })).toBe("elsewhere");
});

it("does not take a later process of the same pid for the earlier one", () => {
  expect(aliveHere({ ...thisProcess(), startTicks: 1 })).toBe("gone");
});

it("sees a process end, and counts a zombie as gone", async () => {
  const ended = bash("read line < /dev/null");
  await eventually("its end", () => aliveHere(ended) === "gone");
  const folder = temporaryFolder();
  start([
    "perl",
    "-e",
    'my $p = fork; exit if !$p; open F, ">", $ARGV[0]; print F "$p\\n"; close F; sleep 1000',
    join(folder, "z"),
  ]);
  const [pid = 0] = await eventually("the zombie's pid", () => numbersIn(join(folder, "z"), 1));
  await eventually("the zombie", () => readStat(pid)?.state === "Z");
  const zombie = processRef(pid);
  expect(zombie?.pid).toBe(pid);
  expect(zombie && aliveHere(zombie)).toBe("gone");
});

it("takes a process for alive whose first thread has ended while another runs", async () => {
  if (process.arch !== "x64" && process.arch !== "arm64")
    return console.log("skipped: system call number unknown here");
  const exit = process.arch === "x64" ? 60 : 93;
  const threads = spawnsThreads();
  if (!threads) return console.log("skipped: perl has no threads here");
  const ref = start(["perl", "-e", `use threads; threads->create(sub { sleep 1000 }); syscall(${exit}, 0)`]);
  await eventually("the end of its first thread", () => readStat(ref.pid)?.state === "Z");
  expect(readStat(ref.pid)?.threads).toBe(2);
  expect(aliveHere(ref)).toBe("alive");
});

it("reads through names with brackets, blanks and line ends", async () => {
  const name = "a) S 1 (b\nc";
  const ref = start(["perl", "-e", 'open F, ">", "/proc/self/comm"; print F $ARGV[0]; close F; sleep 1000', name]);
  const stat = await eventually("the new name", () => {
    const now = readStat(ref.pid);
    return now?.comm === name ? now : null;
  });
  expect(stat).toMatchObject({ pid: ref.pid, parent: process.pid, session: ref.pid, startTicks: ref.startTicks });
  expect(readCommandLine(ref.pid)?.at(-1)).toBe(name);
});

it("finds nothing where nothing is", () => {
  const ended = execFileSync("bash", ["-c", "echo $$"], { encoding: "utf8" });
  expect(processRef(Number(ended))).toBeNull();
  expect(() => own(Number(ended))).toThrow("has ended already");
});

function spawnsThreads(): boolean {
  try {
    execFileSync("perl", ["-e", "use threads"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
