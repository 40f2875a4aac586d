// `stint usage` over saved samples: 10,000 leaf tasks, 25,000 attempts, 100 million samples in sorted Parquet segments, against
// the seed's single statement by DuckDB on the same files. Each is a process of its own, as a user has it.
// With STINT_BENCH_BILLION=1 also a billion samples (8 GB on disk, minutes to make).
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { figure } from "./figures.mjs";

const PROGRAM = new URL("./usage-parquet-program.mjs", import.meta.url).pathname;
const MIB = 1_048_576;

export async function usageParquet(stand, { rounds }) {
  const hundred = await measured(stand, 100_000_000, Math.max(1, Math.min(3, rounds)));
  const notes = ["each a process of its own with two threads; resident memory is the system's own highest"];
  const figures = [
    figure("100 million samples: the seed's statement", "ms", hundred.seed.ms),
    figure("  stint's mean x span ÷ that", "", hundred.ratios, 1.3),
    figure("  its memory", "MiB", hundred.plain.memoryMib, 2_048),
    figure("  stint's --integral ÷ the seed's", "", hundred.integralRatios, 3),
    figure("  its memory", "MiB", hundred.integral.memoryMib, 2_048),
  ];
  if (process.env.STINT_BENCH_BILLION === "1") {
    const billion = await measured(stand, 1_000_000_000, 1);
    figures.push(
      figure("a billion samples: the seed's statement", "ms", billion.seed.ms),
      figure("  stint's mean x span", "ms", billion.plain.ms, 120_000),
      figure("  its memory", "MiB", billion.plain.memoryMib, 6_144),
      figure("  stint's --integral", "ms", billion.integral.ms, 120_000),
      figure("  its memory", "MiB", billion.integral.memoryMib, 6_144),
    );
  } else notes.push("a billion: STINT_BENCH_BILLION=1 npm run bench -- --only usage-parquet");
  return { figures, notes };
}

/** In turns, so that a change of the machine's pace meets all. */
async function measured(stand, samples, rounds) {
  const folder = makeFiles(stand, samples);
  const of = { seed: newSeries(), plain: newSeries(), integral: newSeries() };
  const [ratios, integralRatios] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const seed = take(of.seed, folder, "seed");
    ratios.push(take(of.plain, folder, "plain").ms / seed.ms);
    integralRatios.push(take(of.integral, folder, "integral").ms / seed.ms);
  }
  return { ...of, ratios, integralRatios };
}

function newSeries() {
  return { ms: [], memoryMib: [] };
}

function take(series, folder, what) {
  const one = run(what, folder);
  series.ms.push(one.ms);
  series.memoryMib.push(one.memoryBytes / MIB);
  return one;
}

/** Kept beside the stand's own folder when STINT_BENCH_DATA names a place for it. */
function makeFiles(stand, samples) {
  const base = process.env.STINT_BENCH_DATA ?? stand.folder;
  const folder = join(base, `samples-${samples}`);
  if (existsSync(folder)) return folder;
  mkdirSync(`${folder}.making`, { recursive: true });
  run("make", `${folder}.making`, String(samples));
  renameSync(`${folder}.making`, folder);
  return folder;
}

function run(...args) {
  const child = spawnSync(process.execPath, [PROGRAM, ...args], { encoding: "utf8", maxBuffer: MIB * 64 });
  if (child.status !== 0) throw new Error(`${args[0]} ended with ${child.status}: ${child.stderr.trim()}`);
  return JSON.parse(child.stdout);
}
