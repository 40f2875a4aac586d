// From the end of one application to the start of the next, on `local`, against `node -e 0` in the same attempts.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { figure, median } from "./figures.mjs";
import { attemptFolder, record, untilOver } from "./stand.mjs";

/**
 * Writes when it began and ended, and how long `node -e 0` took in between: so each hand-over stands between two of
 * them. The pause lets the earlier attempt's processes end first, as they have long done in a real chain. With `BENCH_WAITS` it
 * then computes until the window ends and TERM asks it to save; else it ends by itself, which nobody can foresee.
 */
const APPLICATION = `began=$EPOCHREALTIME
n=0; [ -e state.txt ] && read -r n <state.txt
trap 'asked=1' TERM
sleep 0.6
before=$EPOCHREALTIME
"$BENCH_NODE" -e 0
after=$EPOCHREALTIME
if [ -n "$BENCH_WAITS" ]; then sleep 60 & wait; fi
n=$((n + 1))
echo "$n" >state.tmp && mv state.tmp state.txt
code=99; [ "$n" -ge "$MAX_ITER" ] && code=0
printf '%s %s %s %s %s\\n' "$STINT_ATTEMPT" "$began" "$before" "$after" "$EPOCHREALTIME" >>times.txt
exit $code
`;
const ATTEMPTS = 10;
const LIMIT = 3;

/** How the end of an attempt comes about, with the settings that make it so. */
const KINDS = {
  window: { says: "at the end of the window", settings: ["--limit", "4s", "--margin", "1s", "--env", "BENCH_WAITS=1"] },
  unforeseen: { says: "application ends unforeseen", settings: [] },
  queued: { says: "unforeseen, ahead 1", settings: ["--ahead", "1"] },
};

export async function handOver(stand, { rounds }) {
  const chains = { window: [], unforeseen: [], queued: [] };
  for (let round = 0; round < Math.ceil(rounds / 2); round++) {
    for (const kind of Object.keys(KINDS)) chains[kind].push(await runChain(stand, `hand-over-${kind}-${round}`, kind));
  }
  const [first] = chains.unforeseen;
  stand.left.finished = first;
  const footprints = first.attempts.map(footprint);
  const gaps = Object.entries(chains).map(([kind, all]) => [KINDS[kind].says, all.flatMap((chain) => chain.gaps)]);
  return {
    figures: [
      ...gaps.flatMap(([says, all]) => [
        figure(`hand-over ÷ node -e 0, ${says}`, "", all.map(ratio), LIMIT),
        figure(
          `  hand-over, ${says}`,
          "ms",
          all.map(({ ms }) => ms),
        ),
      ]),
      figure(
        "node -e 0, in the attempts",
        "ms",
        gaps.flatMap(([, all]) => all.map(({ nodeMs }) => nodeMs)),
      ),
      figure(
        "files of a finished attempt",
        "",
        footprints.map(({ files }) => files),
      ),
      figure(
        "bytes of a finished attempt",
        "B",
        footprints.map(({ bytes }) => bytes),
        null,
        "of a second; see the row of samples",
      ),
      figure(
        "  on disk, in blocks",
        "kB",
        footprints.map(({ blocks }) => blocks / 1000),
      ),
    ],
    notes: gaps.map(([says, all]) => `where the time goes (medians, ms; ${says}):\n${stages(all)}`),
  };
}

const ratio = ({ ms, nodeMs }) => ms / nodeMs;

async function runChain(stand, name, kind) {
  const project = stand.project(name, APPLICATION);
  const settings = ["--total", ATTEMPTS, "--checkpoint", "state.txt", ...KINDS[kind].settings].map(String);
  const folder = stand.submit(project, name, [...settings, "--env", `BENCH_NODE=${process.execPath}`]);
  await untilOver(folder, ATTEMPTS, 120_000);
  const attempts = Array.from({ length: ATTEMPTS }, (_, at) => attemptFolder(folder, at + 1));
  const runs = readFileSync(join(project, "times.txt"), "utf8").trimEnd().split("\n").map(parseRun);
  if (runs.some((run, at) => run.attempt !== at + 1)) throw new Error(`${name}: attempts did not follow each other`);
  const gaps = runs.slice(1).map((run, at) => ({
    ms: run.beganMs - runs[at].endedMs,
    nodeMs: (run.nodeMs + runs[at].nodeMs) / 2,
    times: timesOf(attempts[at], attempts[at + 1], runs[at], run),
  }));
  return { folder, project, attempts, gaps };
}

function parseRun(line) {
  const [attempt, began, before, after, ended] = line.split(" ").map(Number);
  return { attempt, beganMs: began * 1000, nodeMs: (after - before) * 1000, endedMs: ended * 1000 };
}

/** Each step's moment, from the records that both attempts have left. A successor that was ready before has no moment for its start. */
function timesOf(from, to, ended, began) {
  const local = record(to, "local.json");
  return [
    ["application ended", ended.endedMs],
    ["exited: swept, checkpoint read", record(from, "exited.json").atMs],
    ["settled: testimony on file", record(from, "settled.json").atMs],
    ["next one claimed", record(to, "claim.json").atMs],
    ["its shepherd spawned", record(to, "submitted.json").atMs],
    ["shepherd up", local.submittedAtMs],
    ["runner spawned, or told", local.startedAtMs],
    ["runner up, records read", record(to, "started.json").atMs],
    ["go: its turn proved", record(to, "go.json").atMs],
    ["application began", began.beganMs],
  ];
}

function stages(gaps) {
  let last = 0;
  const lines = gaps[0].times.slice(1).map(([name], at) => {
    const medianMs = median(gaps.map(({ times }) => times[at + 1][1] - times[0][1]));
    if (medianMs < 0) return `  ${name.padEnd(34)}  before`;
    const stepMs = medianMs - last;
    last = medianMs;
    return `  ${name.padEnd(34)} ${stepMs.toFixed(1).padStart(7)}`;
  });
  return lines.join("\n");
}

function footprint(folder) {
  const stats = readdirSync(folder).map((name) => statSync(join(folder, name)));
  return {
    files: stats.length,
    bytes: stats.reduce((sum, { size }) => sum + size, 0),
    blocks: [...stats, statSync(folder)].reduce((sum, { blocks }) => sum + blocks * 512, 0),
  };
}
