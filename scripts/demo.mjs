// `npm start`: runs a real application with about 20 s of work in windows of a few seconds, in a folder of its own, and
// shows what is left behind. It types the commands that a user would type.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./project.mjs";

const SPEC = `name: count
command: [bash, count.sh]
checkpoint: {path: state_iter.txt, progress: number}
total: 40                  # 40 steps of half a second
limit: 8s                  # what the "cluster" lends at a time
margin: 3s                 # kept back for saving: TERM comes after 5 s
env: {STEP_SEC: "0.5", CHECKPOINT_EVERY: "5"}
`;

const cli = join(ROOT, "dist/cli/main.js");
if (!existsSync(cli)) {
  console.error("demo: dist/cli/main.js is not there; run `npm run build` first");
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), "stint-demo-"));
copyFileSync(join(ROOT, "examples/count.sh"), join(folder, "count.sh"));
writeFileSync(join(folder, "stint.yaml"), SPEC);

console.log(`stint.yaml in ${folder}:\n\n${SPEC.replace(/^(?=.)/gm, "  ")}`);
// The demo must not depend on what is on PATH, so it names the scheduler.
const status = stint(["run", "--scheduler", "local", "stint.yaml"]);
stint(["status", "count"]);
console.log(`\ncheckpoint   ${join(folder, "state_iter.txt")} (${checkpoint()})`);
console.log(`job folder   ${join(folder, ".stint/jobs")}`);
console.log(`the logs     cd ${folder} && ${process.execPath} ${cli} logs count`);
console.log(`clean up     rm -r ${folder}`);
process.exitCode = status;

function stint(args) {
  console.log(`$ stint ${args.join(" ")}`);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSetting(name)));
  const result = spawnSync(process.execPath, [cli, ...args], { cwd: folder, env, stdio: "inherit" });
  return result.status ?? 1;
}

/** What the user's shell happens to export must not change the demo. */
function isSetting(name) {
  return (
    /^(STINT|SBATCH|RUNNER|SUBMITTER)_/.test(name) ||
    /^(CKPT_PATH|MAX_ITER|CHECKPOINT_EVERY|APP_CMD|LAUNCH_MODE)$/.test(name)
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
