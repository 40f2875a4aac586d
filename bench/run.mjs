// `npm run bench`: measures speed and size of what is in dist/, and prints one table (`--json`: one JSON value).
//
// The figures are no tests. A machine is never quiet: each time is taken in several rounds, in turns with `node -e 0`, and
// given as median, least and most; what counts is the ratio within one run. Where others keep the processors busy, even the
// ratios say little: `chrt -r 1 npm run bench` (as root) measures as if the machine were idle.
import { parseArgs } from "node:util";
import { clockDrift } from "./figures.mjs";
import { handOver } from "./hand-over.mjs";
import { ownProcesses } from "./own-processes.mjs";
import { printTable } from "./print-table.mjs";
import { slurmChain } from "./slurm-chain.mjs";
import { slurmMany } from "./slurm-many.mjs";
import { openStand } from "./stand.mjs";
import { startUp } from "./start-up.mjs";
import { statusOfMany } from "./status-of-many.mjs";
import { submitToStart } from "./submit-to-start.mjs";
import { usageParquet } from "./usage-parquet.mjs";

/** In this order: the later ones use the chain that `hand-over` leaves behind. */
const MEASURES = {
  "hand-over": handOver,
  "own-processes": ownProcesses,
  "start-up": startUp,
  submit: submitToStart,
  status: statusOfMany,
  slurm: slurmChain,
  "slurm-many": slurmMany,
  "usage-parquet": usageParquet,
};

const USAGE = `usage: npm run bench -- [--json] [--only NAME,…] [--rounds N] [--keep]
  --only     ${Object.keys(MEASURES).join(", ")}
  --rounds   more or fewer of each [5]
  --keep     leave the scratch folder behind`;

const { values } = readOptions();
const only = values.only?.split(",") ?? Object.keys(MEASURES);
const rounds = Number(values.rounds);
if (values.help || only.some((name) => !(name in MEASURES)) || !(rounds >= 1)) {
  console.error(USAGE);
  process.exit(values.help ? 0 : 2);
}
const stand = openStand();
const drift = clockDrift();
const results = [];
try {
  for (const [name, measure] of Object.entries(MEASURES)) {
    if (!only.includes(name)) continue;
    const begin = performance.now();
    process.stderr.write(`bench: ${name} …`);
    try {
      results.push({ name, ...(await measure(stand, { rounds })) });
    } catch (error) {
      // The other figures are worth having all the same.
      results.push({ name, figures: [], notes: [`failed: ${error.message}`] });
      process.exitCode = 1;
    }
    process.stderr.write(` ${((performance.now() - begin) / 1000).toFixed(0)} s\n`);
  }
} finally {
  if (values.keep) console.error(`bench: everything lies in ${stand.folder}`);
  else stand.remove();
}
const machine = { ...stand.machine(), clockSetMs: drift() };
if (values.json) console.log(JSON.stringify({ schemaVersion: 1, machine, measures: results }, null, 2));
else printTable(results, machine);

function readOptions() {
  try {
    return parseArgs({
      options: {
        json: { type: "boolean" },
        only: { type: "string" },
        rounds: { type: "string", default: "5" },
        keep: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    console.error(`bench: ${error.message}\n${USAGE}`);
    process.exit(2);
  }
}
