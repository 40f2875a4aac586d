// From the end of one application to the start of the next on a real Slurm, against a chain of batch scripts written by hand
// in which each job submits its successor with `afterany`; and how often the controller is asked.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { figure, median } from "./figures.mjs";
import { more, openSlurm } from "./slurm-stand.mjs";
import { eventually } from "./stand.mjs";

const JOBS = 8;

/** Both chains run this: its own beginning and end, and `node -e 0` in between. */
const APPLICATION = `began=$EPOCHREALTIME
n=0; [ -e state.txt ] && read -r n <state.txt
sleep 1
before=$EPOCHREALTIME
"$BENCH_NODE" -e 0
after=$EPOCHREALTIME
n=$((n + 1))
echo "$n" >state.tmp && mv state.tmp state.txt
code=99; [ "$n" -ge "$MAX_ITER" ] && code=0
printf '%s %s %s %s\\n' "$began" "$before" "$after" "$EPOCHREALTIME" >>times.txt
exit $code
`;

const BY_HAND = `#!/bin/bash
#SBATCH --time=10 --output=%j.out
n=0; [ -e state.txt ] && read -r n <state.txt
if [ "$((n + 1))" -lt "$MAX_ITER" ]; then sbatch --dependency="afterany:$SLURM_JOB_ID" job.sh; fi
exec bash app.sh
`;

export async function slurmChain(stand, { rounds }) {
  const slurm = openSlurm(stand);
  if (slurm === null) return { figures: [], notes: ["left out: no Slurm answers (test/cluster/up.sh starts one)"] };
  const settings = { MAX_ITER: String(JOBS), BENCH_NODE: process.execPath };
  const byHand = [];
  const ours = [];
  const calls = [];
  for (let round = 0; round < Math.ceil(rounds / 2); round++) {
    const hand = slurm.project(`by-hand-${round}`, APPLICATION);
    writeFileSync(join(hand, "job.sh"), BY_HAND);
    const exported = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    const { status, stderr } = slurm.type("sbatch", [`--export=ALL,${exported}`, "job.sh"], hand);
    if (status !== 0) throw new Error(`sbatch: ${stderr}`);
    byHand.push(...(await gapsOf(hand)));

    const project = slurm.project(`stint-${round}`, APPLICATION);
    const before = slurm.calls();
    const words = ["--scheduler", "slurm", "--limit", "10m", "--checkpoint", "state.txt", "--total", String(JOBS)];
    const env = ["--env", `BENCH_NODE=${process.execPath}`];
    await slurm.stint(["submit", "--name", `chain-${round}`, ...words, ...env, "--", "bash", "app.sh"], project);
    ours.push(...(await gapsOf(project)));
    // The last one takes the waiting successors back.
    const queue = () => slurm.type("squeue", ["-h", "--me", "-o", "%i"], project).stdout.trim() === "";
    await eventually("an empty queue", queue, 60_000);
    calls.push(more(before, slurm.calls()) / JOBS);
  }
  const nodeMs = median([...byHand, ...ours].map((gap) => gap.nodeMs));
  const handMs = median(byHand.map(({ ms }) => ms));
  return {
    figures: [
      figure(
        "Slurm: (hand-over − by hand) ÷ node -e 0",
        "",
        ours.map(({ ms }) => (ms - handMs) / nodeMs),
        2.5,
      ),
      figure(
        "  hand-over",
        "ms",
        ours.map(({ ms }) => ms),
      ),
      figure(
        "  hand-over of an afterany chain by hand",
        "ms",
        byHand.map(({ ms }) => ms),
      ),
      figure(
        "  node -e 0, in the jobs",
        "ms",
        [...byHand, ...ours].map((gap) => gap.nodeMs),
      ),
      figure(
        "Slurm: calls to the controller, an attempt",
        "",
        calls,
        5,
        "the end of the chain and our squeue included",
      ),
    ],
  };
}

/** Waits for all jobs of a chain. */
async function gapsOf(project) {
  const lines = await eventually(
    `${JOBS} jobs in ${project}`,
    () => {
      const found = linesOf(join(project, "times.txt"));
      return found.length === JOBS ? found : null;
    },
    180_000,
  );
  const runs = lines.map((line) => line.split(" ").map((text) => Number(text) * 1000));
  return runs.slice(1).map(([began, before, after], at) => ({ ms: began - runs[at][3], nodeMs: after - before }));
}

function linesOf(path) {
  try {
    return readFileSync(path, "utf8").trimEnd().split("\n");
  } catch {
    return [];
  }
}
