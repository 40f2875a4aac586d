// `stint status` in a project with 2,000 finished jobs of 10 attempts each: copies of a real finished one.

import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { figure } from "./figures.mjs";
import { handOver } from "./hand-over.mjs";
import { cleanEnvironment, timed } from "./stand.mjs";

const JOBS = 2_000;
const LIMIT_MS = 500;

export async function statusOfMany(stand, { rounds }) {
  if (stand.left.finished === undefined) await handOver(stand, { rounds: 1 });
  const { folder: template } = stand.left.finished;
  const project = join(stand.folder, "many");
  const jobs = join(project, ".stint/jobs", basename(dirname(template)));
  mkdirSync(jobs, { recursive: true, mode: 0o700 });
  for (let number = 1; number <= JOBS; number++) copyJob(template, jobs, `job-${number}`);
  requireFinished(stand, project);
  const times = { ms: [], cpuMs: [], ratios: [], cpuRatios: [], one: [] };
  for (let round = 0; round < rounds * 2; round++) {
    const empty = timed(process.execPath, ["-e", "0"]);
    const all = timed(process.execPath, [stand.cli, "status"], project);
    times.ms.push(all.ms);
    times.cpuMs.push(all.cpuMs);
    times.ratios.push(all.ms / empty.ms);
    times.cpuRatios.push(all.cpuMs / empty.cpuMs);
    times.one.push(timed(process.execPath, [stand.cli, "status", "job-7"], project).ms);
  }
  const what = `stint status, ${JOBS.toLocaleString("en")} finished jobs`;
  const { counted, note } = countCalls(stand, project);
  return {
    figures: [
      figure(what, "ms", times.ms, LIMIT_MS),
      figure("  in CPU time", "ms", times.cpuMs, LIMIT_MS),
      figure("  ÷ node -e 0", "", times.ratios),
      figure("  ÷ node -e 0, in CPU time", "", times.cpuRatios),
      figure("stint status JOB among them", "ms", times.one),
      ...counted,
    ],
    notes: [note],
  };
}

/**
 * A job as if it had been submitted and run here: what `status` reads are files of its own; what of the lower attempts nobody
 * reads are hard links to the real ones, so that 300,000 files cost no room.
 */
function copyJob(template, jobs, name) {
  const folder = join(jobs, name);
  const attempts = join(folder, "tasks/0/attempts");
  mkdirSync(attempts, { recursive: true, mode: 0o700 });
  mkdirSync(join(folder, "spec"), { mode: 0o700 });
  const uuid = randomUUID();
  const inode = String(statSync(folder, { bigint: true }).ino);
  const home = JSON.parse(readFileSync(join(template, "home.json"), "utf8"));
  writeRecord(join(folder, "home.json"), { ...home, nonce: uuid, uuid, folder, inode });
  const revision = JSON.parse(readFileSync(join(template, "spec/0001.json"), "utf8"));
  writeRecord(join(folder, "spec/0001.json"), {
    ...revision,
    nonce: randomUUID(),
    spec: { ...revision.spec, name, checkpoint: { ...revision.spec.checkpoint, path: `${name}.txt` } },
  });
  linkSync(join(template, "env.json"), join(folder, "env.json"));
  const numbers = readdirSync(join(template, "tasks/0/attempts"));
  for (const number of numbers) {
    const from = join(template, "tasks/0/attempts", number);
    mkdirSync(join(attempts, number), { mode: 0o700 });
    for (const file of readdirSync(from)) linkOrWrite(join(from, file), join(attempts, number, file), file);
  }
}

function linkOrWrite(from, to, name) {
  if (name !== "settled.json") linkSync(from, to);
  else writeRecord(to, { ...JSON.parse(readFileSync(from, "utf8")), nonce: randomUUID() });
}

function writeRecord(path, content) {
  writeFileSync(path, `${JSON.stringify(content)}\n`, { mode: 0o600 });
}

/** Also brings everything into the cache. */
function requireFinished(stand, project) {
  const { jobs } = JSON.parse(stand.stint(project, ["status", "--json"]));
  const finished = jobs.filter(
    ({ state, decision, attempts }) => state === "over" && decision === "finish" && attempts === 10,
  );
  if (finished.length !== JOBS)
    throw new Error(`only ${finished.length} of ${JOBS} jobs are finished in the eyes of status`);
}

function countCalls(stand, project) {
  const strace = ["-f", "-e", "trace=open,openat,stat,newfstatat,statx,access,faccessat,faccessat2"];
  const traced = spawnSync("strace", [...strace, process.execPath, stand.cli, "status"], {
    cwd: project,
    env: cleanEnvironment(),
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (traced.status !== 0) return { counted: [], note: "calls were not counted: strace does not work here" };
  const lines = traced.stderr.split("\n").filter((line) => line.includes("/.stint/"));
  const count = (test) => lines.filter(test).length / JOBS;
  const isOpen = (line) => /\bopen(at)?\(/.test(line);
  const isFolder = (line) => line.includes("O_DIRECTORY");
  return {
    counted: [
      figure("  files read per job", "", [
        count((line) => isOpen(line) && !isFolder(line) && !line.includes("ENOENT")),
      ]),
      figure("  folders listed per job", "", [count((line) => isOpen(line) && isFolder(line))]),
      figure("  looks at names per job", "", [count((line) => !isOpen(line) || line.includes("ENOENT"))]),
    ],
    note: "calls counted by strace in one more run",
  };
}
