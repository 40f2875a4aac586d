// `npm start`: runs a real application with about 20 s of work in windows of a few seconds, in a folder of its own, and
// shows what is left behind. It types the commands that a user would type.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./project.mjs";

const SPEC = `name: count
command: [bash, count.sh]
checkpoint: {path: state_iter.txt, progress: number}
total: 40                  # 40 steps of half a second
limit: 8s                  # what the "cluster" lends at a time
margin: 3s                 # kept back for saving: TERM comes after 5 s
env: {STEP_SEC: "0.5", CHECKPOINT_EVERY: "2"}
`;

const cli = join(ROOT, "dist/cli/main.js");
if (!existsSync(cli)) {
  console.error("demo: dist/cli/main.js is not there; run `npm run build` first");
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), "stint-demo-"));
copyFileSync(join(ROOT, "examples/count.sh"), join(folder, "count.sh"));
writeFileSync(join(folder, "stint.yaml"), SPEC);
// A Ctrl-C goes to everybody at the terminal. stint answers it (it saves and stops) and we wait for its answer.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {});

console.log(`20 s of work on a "cluster" that lends 8 s at a time. This is stint.yaml in ${folder}:\n`);
console.log(SPEC.replace(/^(?=.)/gm, "  "));
// The demo must not depend on what is on PATH, so it names the scheduler.
const status = stint(["run", "--scheduler", "local", "stint.yaml"]);
console.log(`\ncheckpoint: ${join(folder, "state_iter.txt")} (${checkpoint()})`);
console.log(status === 0 || status === 75 ? whatNext(status) : whatToDo());
process.exitCode = status;

function stint(args) {
  console.log(`$ stint ${args.join(" ")}`);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSetting(name)));
  const result = spawnSync(process.execPath, [cli, ...args], {
    cwd: folder,
    // The demo's folder is none of the user's projects (stint status --everywhere).
    env: { ...env, XDG_STATE_HOME: join(folder, ".state") },
    stdio: "inherit",
  });
  if (result.error !== undefined) console.error(`demo: ${result.error.message}`);
  return result.status ?? 1;
}

/** What the user's shell happens to export must not change the demo. */
function isSetting(name) {
  return (
    /^(STINT|SBATCH|RUNNER|SUBMITTER)_/.test(name) ||
    /^(CKPT_PATH|MAX_ITER|CHECKPOINT_EVERY|APP_CMD|LAUNCH_MODE|SRUN_ARGS|MODULE_LIST)$/.test(name)
  );
}

function checkpoint() {
  try {
    return readFileSync(join(folder, "state_iter.txt"), "utf8").trim();
  } catch {
    // The run said why there is none.
    return "not there";
  }
}

function whatNext(status) {
  const [user] = readdirSync(join(folder, ".stint/jobs"));
  const attempt = join(".stint/jobs", user, "count/tasks/0/attempts/0001");
  const go =
    status === 75
      ? ["stint resume count", "go on where it was stopped"]
      : ["stint run stint.yaml", "the same again: it is finished, nothing is started"];
  const lines = [
    go,
    ["stint logs count", "what the attempts wrote: no step is done twice"],
    ["stint status count --spec", "each setting, with where it came from"],
    [`ls ${quoted(attempt)}`, "one attempt on file; cat shows the rest"],
    ["stint --help", "all commands"],
    [`rm -r ${quoted(folder)}`, "when you have seen enough"],
  ];
  const widest = Math.max(...lines.map(([line]) => line.length));
  return [
    "\nTo look around, type:\n",
    `  cd ${quoted(folder)}`,
    `  alias stint=${quoted(`${quoted(process.execPath)} ${quoted(cli)}`)}`,
    ...lines.map(([line, what]) => `  ${line.padEnd(widest)}   # ${what}`),
  ].join("\n");
}

function whatToDo() {
  return `\nIt did not come to its end. Whether stint can work here: ${quoted(process.execPath)} ${quoted(cli)} doctor`;
}

function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
