// From typing `stint submit` to the start of the application, and to the prompt.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { figure } from "./figures.mjs";
import { timed, untilOver } from "./stand.mjs";

const APPLICATION = `echo $EPOCHREALTIME >began.txt\n`;

export async function submitToStart(stand, { rounds }) {
  const starts = [];
  const prompts = [];
  const ratios = [];
  for (let round = 0; round < rounds * 2; round++) {
    const name = `submit-${round}`;
    const project = stand.project(name, APPLICATION);
    const { ms: nodeMs } = timed(process.execPath, ["-e", "0"]);
    const typedMs = Date.now();
    const folder = stand.submit(project, name);
    prompts.push(Date.now() - typedMs);
    await untilOver(folder, 1);
    const startMs = Number(readFileSync(join(project, "began.txt"), "utf8")) * 1000 - typedMs;
    starts.push(startMs);
    ratios.push(startMs / nodeMs);
  }
  return {
    figures: [
      figure("submit to start of application", "ms", starts),
      figure("  ÷ node -e 0", "", ratios),
      figure("submit to prompt", "ms", prompts),
    ],
  };
}
