/** What the report of the test job means for a chain. */
import { formatBytes, formatDuration } from "../../core/index.ts";
import { ENOUGH_ADDRESS_SPACE } from "./doctor-machine.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";
import type { TestReport } from "./submit-test-script.ts";

/** What this side knows. */
export interface Expected {
  readonly job: string;
  readonly token: string;
  /** `v20.20.0`. */
  readonly nodeVersion: string;
  readonly node: string;
  readonly folder: string;
  /** `cksum` of the site file here; empty: there is none. */
  readonly site: string;
  readonly sitePath: string;
  /** Submit to start in ms, as this host saw it; null: not seen. */
  readonly waitedMs: number | null;
  /** This host's clock (epoch ms) at the last look without the report, and at the first with it. */
  readonly betweenMs: readonly [number, number];
}

export function reportFindings(report: TestReport, expected: Expected): readonly Finding[] {
  const host = report.host ?? "";
  return [
    ok(
      "test job",
      `${expected.job} ran on ${host}${expected.waitedMs === null ? "" : `, ${formatDuration(Math.round(expected.waitedMs / 1000) * 1000)} after its submit`}`,
    ),
    folder(report, expected),
    node(report, expected),
    addresses(report),
    cgroup(report, expected),
    perl(report),
    commands(report, expected),
    submits(report),
    site(report, expected),
    clock(report, expected),
  ].filter((finding) => finding !== null);
}

function folder({ token = "" }: TestReport, expected: Expected): Finding {
  if (token === expected.token)
    return ok("node: folder", `a file just written here is seen there (${expected.folder})`);
  return problem(
    "node: folder",
    `${expected.folder} is not the same folder there: ${token === "" ? "its file is missing" : token}`,
    "submit from a folder that the compute nodes share",
  );
}

function node({ node: version = "" }: TestReport, { nodeVersion, node: path }: Expected): Finding {
  if (version === nodeVersion) return ok("node: Node", `${version} (${path})`);
  if (/^v\d+\./.test(version))
    return warning(
      "node: Node",
      `${version} there, ${nodeVersion} here (${path})`,
      "a path that is the same program on all nodes",
    );
  return problem(
    "node: Node",
    `${path} does not start there: ${version === "" ? "it said nothing (too little address space?)" : version}`,
    "install Node where the compute nodes see it too (a shared folder), glibc 2.28 or newer",
  );
}

function addresses({ addresses: kib = "" }: TestReport): Finding {
  if (!/^\d+$/.test(kib)) return ok("node: address space", kib === "" ? "not told" : kib);
  const bytes = Number(kib) * 1024;
  if (bytes >= ENOUGH_ADDRESS_SPACE) return ok("node: address space", formatBytes(bytes));
  return problem(
    "node: address space",
    `limited to ${formatBytes(bytes)}`,
    "submit from a shell with ulimit -v unlimited, or ask the site (PropagateResourceLimits): Node needs 1 GB of addresses",
  );
}

function cgroup({ cgroup: text = "" }: TestReport, { job }: Expected): Finding {
  const own = text.split(" ").find((part) => part.includes(`job_${job}`));
  return own === undefined
    ? ok("node: cgroup", "the job has none of its own: members are found by session, parents and mark")
    : ok("node: cgroup", own);
}

function perl({ perl: path = "" }: TestReport): Finding {
  return path === ""
    ? warning("node: perl", "not there", "install perl on the nodes, or let applications not fork twice")
    : ok("node: perl", path);
}

function commands({ squeue = "", scancel = "", scontrol = "" }: TestReport, { job }: Expected): Finding {
  const wrong = [
    squeue === job ? null : `squeue: ${squeue || "no answer"}`,
    /^slurm/i.test(scancel) ? null : `scancel: ${scancel || "no answer"}`,
    /is UP/.test(scontrol) ? null : `scontrol: ${scontrol || "no answer"}`,
  ].filter((line) => line !== null);
  if (wrong.length === 0) return ok("node: Slurm", "squeue, scancel and scontrol answer there");
  return problem(
    "node: Slurm",
    wrong.join("; "),
    "a chain moves itself from its nodes: ask the site for Slurm's commands there, on the PATH that you submit with",
  );
}

function submits({ sbatch = "" }: TestReport): Finding {
  const [status = "", ...words] = sbatch.split(" ");
  if (status === "0") return ok("node: sbatch", "a job may be submitted from there");
  return problem(
    "node: sbatch",
    `no job may be submitted from there: ${words.join(" ") || "no answer"}`,
    "ask the site for submits from compute nodes; until then put the line of scrontab into a crontab: it continues chains from here",
  );
}

function site({ site: sum = "" }: TestReport, expected: Expected): Finding | null {
  if (sum === expected.site) return null;
  const there = sum === "" ? "not there" : "another one there";
  return warning(
    "node: site file",
    `${expected.sitePath} is ${there}`,
    "the site should put the same file on all hosts: its poll floor and trust are read where they apply",
  );
}

/** Neither end of the time in which the report came is exact: only what is outside of it is an offset. */
function clock({ end = "" }: TestReport, { betweenMs: [before, after] }: Expected): Finding {
  const thereMs = Number(end) * 1000;
  if (!/^\d+$/.test(end)) return warning("node: clock", "not told", "look at the report");
  // The node's clock was read in whole seconds.
  const aheadMs = thereMs - after;
  const behindMs = before - (thereMs + 1000);
  const offMs = Math.max(aheadMs, behindMs, 0);
  const exact = `as exact as ${formatDuration(Math.max(1000, after - before))}`;
  if (offMs <= CLOCK_MS) return ok("node: clock", `as here (${exact})`);
  return warning(
    "node: clock",
    `${formatDuration(Math.round(offMs / 1000) * 1000)} ${aheadMs > 0 ? "ahead of" : "behind"} this host's`,
    "ask the site to set it: times of attempts on several hosts will not fit together (proofs do not depend on them)",
  );
}

const CLOCK_MS = 2_000;
