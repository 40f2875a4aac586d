// 200 chains at once on a real Slurm: whether all of them end right, and what that asks of the controller.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { figure } from "./figures.mjs";
import { more, openSlurm } from "./slurm-stand.mjs";
import { eventually } from "./stand.mjs";

const CHAINS = 200;
const ATTEMPTS = 3;

/** Each attempt goes one step; what overlaps, comes twice or out of order shows in steps.txt. */
const APPLICATION = `n=0; [ -e state.txt ] && read -r n <state.txt
echo "begin $((n + 1))" >>steps.txt
sleep 1
n=$((n + 1))
echo "end $n" >>steps.txt
echo "$n" >state.tmp && mv state.tmp state.txt
code=99; [ "$n" -ge "$MAX_ITER" ] && code=0
exit $code
`;

const RIGHT = Array.from({ length: ATTEMPTS }, (_, at) => `begin ${at + 1}\nend ${at + 1}\n`).join("");

export async function slurmMany(stand) {
  const slurm = openSlurm(stand);
  if (slurm === null) return { figures: [], notes: ["left out: no Slurm answers (test/cluster/up.sh starts one)"] };
  const projects = Array.from({ length: CHAINS }, (_, at) => slurm.project(`many-${at}`, APPLICATION));
  const before = slurm.calls();
  const beginMs = performance.now();
  const words = ["--scheduler", "slurm", "--limit", "10m", "--checkpoint", "state.txt", "--total", String(ATTEMPTS)];
  const waiting = projects.entries();
  const submit = async () => {
    for (const [at, project] of waiting)
      await slurm.stint(["submit", "--name", `many-${at}`, ...words, "--", "bash", "app.sh"], project);
  };
  await Promise.all(Array.from({ length: 4 }, submit));
  const submitSec = (performance.now() - beginMs) / 1000;
  const queue = () => slurm.type("squeue", ["-h", "--me", "-o", "%i"], "/").stdout.trim() === "";
  await eventually("an empty queue", queue, 1_200_000, 2_000);
  const totalSec = (performance.now() - beginMs) / 1000;
  const calls = more(before, slurm.calls()) / (CHAINS * ATTEMPTS);
  let right = 0;
  for (const [at, project] of projects.entries()) {
    const { job } = JSON.parse(await slurm.stint(["status", "--json", "--no-ask", `many-${at}`], project));
    if (readFileSync(join(project, "steps.txt"), "utf8") === RIGHT && job.decision === "finish") right += 1;
  }
  return {
    figures: [
      figure(`Slurm: of ${CHAINS} chains at once, ended wrong`, "", [CHAINS - right], 0),
      figure(`  ${CHAINS} submits, four at a time`, "s", [submitSec]),
      figure(`  ${CHAINS} × ${ATTEMPTS} attempts, to an empty queue`, "s", [totalSec]),
      figure("  calls to the controller, an attempt", "", [calls], 5, "our squeue every 2 s included"),
    ],
  };
}
