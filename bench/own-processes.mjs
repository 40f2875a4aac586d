// What our own processes take while an application runs: memory of shepherd and runner together, and their CPU time.
import { constants, copyFileSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { figure } from "./figures.mjs";
import { attemptFolder, eventually, record, untilOver } from "./stand.mjs";

const APPLICATION = "sleep 600\n";
const PSS_LIMIT_MIB = 110;
const CPU_LIMIT_PERCENT = 0.5;
/** Long enough for one of the thorough looks that come every 30 s. */
const WATCH_MS = 31_000;
const LOOKS = 4;

export async function ownProcesses(stand, { rounds }) {
  // A copy of Node that nobody else runs: pages shared with strangers would not count in full.
  const node = join(stand.folder, "node");
  copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE);
  const alone = [];
  const shepherds = [];
  const runners = [];
  const cpu = [];
  let rowBytes = [];
  for (let round = 0; round < Math.ceil(rounds / 3); round++) {
    const name = `own-processes-${round}`;
    const project = stand.project(name, APPLICATION);
    const folder = stand.submit(project, name, ["--sample-interval", "1s"], node);
    const { shepherd, runner } = await eventually("the application", () => running(folder));
    await sleep(3_000);
    const before = cpuMs(shepherd) + cpuMs(runner);
    const beganMs = performance.now();
    for (let look = 0; look < LOOKS; look++) {
      await sleep(WATCH_MS / LOOKS);
      shepherds.push(pssMib(shepherd));
      runners.push(pssMib(runner));
      alone.push(shepherds.at(-1) + runners.at(-1));
    }
    cpu.push(((cpuMs(shepherd) + cpuMs(runner) - before) / (performance.now() - beganMs)) * 100);
    stand.stint(project, ["cancel", name], node);
    await untilOver(folder, 1);
    rowBytes = [...rowBytes, ...rows(folder)];
  }
  return {
    figures: [
      figure("memory of our own, PSS", "MiB", alone, PSS_LIMIT_MIB),
      figure("  of it the shepherd", "MiB", shepherds),
      figure("  of it the runner", "MiB", runners),
      figure("CPU of our own, 1 s sampling", "%", cpu, CPU_LIMIT_PERCENT, "of one core"),
      figure("bytes of a row of samples", "B", rowBytes, null, "17,280 rows a day at 5 s"),
    ],
  };
}

function running(folder) {
  const attempt = attemptFolder(folder, 1);
  const local = record(attempt, "local.json");
  if (local?.runner == null || record(attempt, "application.json") === null) return null;
  return { shepherd: local.shepherd.pid, runner: local.runner.pid };
}

function pssMib(pid) {
  const kib = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1];
  return Number(kib) / 1024;
}

/** From the scheduler's own nanoseconds where the kernel keeps them: the ticks of /proc/PID/stat are 10 ms each. */
function cpuMs(pid) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const spent = threads.map((tid) => readFileSync(`/proc/${pid}/task/${tid}/schedstat`, "utf8").split(" ")[0]);
    return spent.reduce((sum, ns) => sum + Number(ns) / 1e6, 0);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Bytes per row: the file without its heading. */
function rows(folder) {
  const path = join(attemptFolder(folder, 1), "samples.csv");
  const lines = readFileSync(path, "utf8").trimEnd().split("\n").slice(1);
  return statSync(path).size > 0 ? lines.map((line) => line.length + 1) : [];
}
