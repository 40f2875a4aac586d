// Makes a fresh clone ready: installs what package-lock.json names and builds what src/ holds, each only when needed.
// It runs before there is a node_modules folder and on a Node that may be too old, so it uses Node's own modules only
// and no syntax newer than Node 14.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const OLDEST_NODE = [20, 19];

requireNode();
if (!packagesInstalled())
  step("installing packages (npm ci)", npm(["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"]));
if (!buildIsNew()) step("building", [process.execPath, join(ROOT, "scripts", "build.mjs")]);

function requireNode() {
  const version = process.versions.node.split(".").map(Number);
  const enough = version[0] > OLDEST_NODE[0] || (version[0] === OLDEST_NODE[0] && version[1] >= OLDEST_NODE[1]);
  if (enough) return;
  fail(
    `stint needs Node ${OLDEST_NODE.join(".")} or newer; this is ${process.versions.node}. Install a newer Node and try again.`,
  );
}

/**
 * Compares what npm says it installed with what the lock file asks for. File times alone would not do: a checkout gives
 * package-lock.json a new time without any change.
 */
function packagesInstalled() {
  const wanted = readJson("package-lock.json");
  const installed = readJson(join("node_modules", ".package-lock.json"));
  if (wanted === null) fail("package-lock.json cannot be read: is this a complete copy of the project?");
  if (installed === null) return false;
  const present = Object.entries(installed.packages).every(([path, entry]) => {
    const asked = wanted.packages[path];
    return asked !== undefined && asked.version === entry.version && existsSync(join(ROOT, path, "package.json"));
  });
  // Packages for other systems are marked optional and rightly absent.
  const complete = Object.entries(wanted.packages).every(
    ([path, entry]) => path === "" || entry.optional === true || installed.packages[path] !== undefined,
  );
  return present && complete;
}

/** The build leaves dist/.built behind when it is complete; nothing that goes into it may be newer. */
function buildIsNew() {
  const built = timeOf(join(ROOT, "dist", ".built"));
  if (built === 0) return false;
  const inputs = [
    "src",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "tsconfig.build.json",
    "scripts/build.mjs",
  ];
  return inputs.every((name) => newestBelow(join(ROOT, name)) <= built);
}

/** The newest time in a tree, folders included: theirs tell of a file that was removed. */
function newestBelow(path) {
  let newest = timeOf(path);
  if (newest === 0 || !statSync(path).isDirectory()) return newest;
  for (const name of readdirSync(path)) newest = Math.max(newest, newestBelow(join(path, name)));
  return newest;
}

function timeOf(path) {
  try {
    return statSync(path).mtimeMs;
  } catch (error) {
    if (error.code === "ENOENT") return 0;
    throw error;
  }
}

function readJson(name) {
  try {
    return JSON.parse(readFileSync(join(ROOT, name), "utf8"));
  } catch {
    // A missing or torn file means the same here: it has to be made again.
    return null;
  }
}

/** The npm that started us, else the one on PATH. */
function npm(args) {
  const script = process.env.npm_execpath;
  return script !== undefined && /npm-cli\.[cm]?js$/.test(script)
    ? [process.execPath, script, ...args]
    : ["npm", ...args];
}

/** Runs one command behind one line; its output is shown only when it fails. */
function step(what, command) {
  const begin = Date.now();
  process.stderr.write(`setup: ${what} … `);
  const result = spawnSync(command[0], command.slice(1), { cwd: ROOT, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const seconds = ((Date.now() - begin) / 1000).toFixed(1);
  if (result.status === 0) {
    process.stderr.write(`done in ${seconds} s\n`);
    return;
  }
  process.stderr.write(`failed after ${seconds} s\n${result.stdout || ""}${result.stderr || ""}`);
  fail(
    `${what} failed${result.error ? ` (${result.error.message})` : ""}; mend what is said above and run the same command again.`,
  );
}

function fail(line) {
  process.stderr.write(`setup: ${line}\n`);
  process.exit(1);
}
