// Runs the tests: unit, then process, and beside it cluster where a Slurm can be had: those tests mostly wait for it. `--full` asks for the long rounds; every other
// argument goes to vitest (`npm test -- src/core`). The last line is always `N passed, N failed`.
import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { filesBelow, ROOT } from "./project.mjs";

/** Where the tests' own Slurm lives, the same for everything that starts or stops it. */
const STATE_DIR = process.env.STATE_DIR ?? "/var/tmp/stint-cluster";
const SLURM_CONF = join(STATE_DIR, "etc/slurm.conf");

const args = process.argv.slice(2).filter((arg) => arg !== "--full");
const environment = { ...process.env, ...(process.argv.includes("--full") ? { STINT_FULL: "1" } : {}) };
const total = { passed: 0, failed: 0, skipped: [] };

await run("unit", environment);
const cluster = runCluster();
await run("process", environment);
await cluster;
report();

/**
 * One vitest project. Whatever goes wrong without a failed test counts as one failure. `later`: what it prints is shown when it has
 * ended, and not between the lines of another one.
 */
async function run(project, env, later = false) {
  const folder = mkdtempSync(join(tmpdir(), "stint-test-"));
  const countsFile = join(folder, "counts.json");
  try {
    const command = [
      join(ROOT, "node_modules/vitest/vitest.mjs"),
      "run",
      `--project=${project}`,
      "--passWithNoTests",
      "--reporter=default",
      `--reporter=${join(ROOT, "scripts/count-reporter.mjs")}`,
      ...args,
    ];
    const shown = join(folder, "shown.txt");
    const out = later ? openSync(shown, "a") : "inherit";
    if (!later) console.log(`\ntest: ${project}`);
    const child = spawn(process.execPath, command, {
      cwd: ROOT,
      env: { ...env, STINT_TEST_COUNTS: countsFile },
      stdio: ["inherit", out, out],
    });
    const [status, signal] = await new Promise((resolve) => child.on("close", (...how) => resolve(how)));
    if (later) {
      closeSync(out);
      console.log(`\ntest: ${project}\n${readFileSync(shown, "utf8")}`);
    }
    const counts = existsSync(countsFile)
      ? JSON.parse(readFileSync(countsFile, "utf8"))
      : { passed: 0, failed: 0, skipped: [] };
    if (status !== 0 && counts.failed === 0) fail(`vitest ended with ${signal ?? status} and named no failed test`);
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped.push(...counts.skipped);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runCluster() {
  if (environment.STINT_FULL === undefined)
    console.log(
      "\ntest: long cluster tests (submitter, attached, children, status and doctor, rare ends, outages, refusals, names) left out: give --full",
    );
  const whyNot = whyNoCluster();
  if (whyNot !== null) {
    console.log(`\ntest: cluster left out: ${whyNot}`);
    if (environment.STINT_REQUIRE_CLUSTER === "1") fail("STINT_REQUIRE_CLUSTER=1 asks for the cluster tests");
    return;
  }
  if (environment.STINT_TEST_SLURM_CONF !== undefined) {
    await run("cluster", environment, true);
    return;
  }
  const mine = !isUp();
  const env = { ...environment, STATE_DIR, STINT_TEST_SLURM_CONF: SLURM_CONF };
  try {
    console.log(
      `\ntest: ${mine ? "starting" : "using"} the Slurm in ${STATE_DIR}, installing its packages when they are missing`,
    );
    const { status } = spawnSync("bash", ["test/cluster/up.sh"], {
      cwd: ROOT,
      env,
      stdio: ["ignore", "ignore", "inherit"],
    });
    if (status === 0) await run("cluster", env, true);
    else fail(`test/cluster/up.sh ended with ${status}`);
  } finally {
    if (mine) spawnSync("bash", ["test/cluster/down.sh"], { cwd: ROOT, env, stdio: ["ignore", "ignore", "inherit"] });
  }
}

/** Null when the cluster tests can run here, else the reason why they cannot. */
function whyNoCluster() {
  if (environment.STINT_TEST_CLUSTER === "0") return "STINT_TEST_CLUSTER=0";
  if (!filesBelow("test/cluster").some((name) => name.endsWith(".test.ts"))) return "there are no cluster tests";
  if (args.length > 0 && !args.some((arg) => arg.includes("cluster"))) return "not among the tests that were asked for";
  if (environment.STINT_TEST_SLURM_CONF !== undefined) return null;
  if (!existsSync(join(ROOT, "test/cluster/up.sh"))) return "there is no test/cluster/up.sh to start a Slurm with";
  if (process.getuid?.() !== 0)
    return "starting a Slurm takes root (or name a running one: STINT_TEST_SLURM_CONF=…/slurm.conf)";
  if (!onPath("slurmctld") && !onPath("apt-get"))
    return "Slurm is not installed and there is no apt-get to install it with";
  return null;
}

function isUp() {
  try {
    const pid = readFileSync(join(STATE_DIR, "run/slurmctld.pid"), "utf8").trim();
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "slurmctld";
  } catch {
    // No such file or no such process: it is not up.
    return false;
  }
}

function onPath(program) {
  return (process.env.PATH ?? "").split(":").some((folder) => folder !== "" && existsSync(join(folder, program)));
}

function fail(line) {
  console.log(`test: ${line}`);
  total.failed += 1;
}

function report() {
  if (total.skipped.length > 0) console.log(`\ntest: ${total.skipped.length} skipped`);
  for (const { name, reason } of total.skipped) console.log(`  ${name}: ${reason ?? "no reason given"}`);
  if (total.passed + total.failed === 0) fail("no test was found");
  process.exitCode = total.failed === 0 ? 0 : 1;
  console.log(`\n${total.passed} passed, ${total.failed} failed`);
}
