/** Which of several checkpoint files are the newest generation: from their names and times, or an honest "cannot be told". */

export interface Written {
  readonly name: string;
  /** When it was last written, by the file system's own clock; only held against its neighbours. */
  readonly writtenMs: number;
}

/** Parts of one checkpoint are written at about the same time, and so are generations of a program that saves all the time. */
const TOGETHER_MS = 1000;

/**
 * The names that make up the newest generation, ascending. Names that carry a number which grows are told apart by it
 * (`step-400`, `step-500`), the numbers of ranks and parts are not (`rank0`, `00001-of-00004`); the newest is the one written
 * last. `why`: it cannot be told, and to guess would tear a checkpoint in two.
 */
export function newestGeneration(files: readonly Written[]): readonly string[] | { readonly why: string } {
  if (files.length < 2) return files.map(({ name }) => name);
  const byTime = files
    .toSorted((a, b) => a.writtenMs - b.writtenMs)
    .map((file) => ({ ...file, numbers: numbersOf(file.name) }));
  const keyOf = generationKey(byTime.map(({ numbers }) => numbers));
  if (keyOf === null) return { why: "their names carry several numbers, or not all of them do" };
  const newestKey = keyOf(byTime.at(-1)?.numbers ?? []);
  const newest = byTime.filter(({ numbers }) => keyOf(numbers) === newestKey);
  const before = byTime.filter(({ numbers }) => keyOf(numbers) !== newestKey).at(-1);
  if (before === undefined) return { why: "no number in their names tells one generation from the next" };
  const first = newest[0];
  if (first === undefined || first.writtenMs <= before.writtenMs)
    return { why: `${before.name} was written later than ${first?.name ?? "the first of the newest"}` };
  if (newest.length === 1 && first.writtenMs - before.writtenMs < TOGETHER_MS)
    return { why: `${before.name} and ${first.name} were written within a second, as parts of one checkpoint are` };
  return newest.map(({ name }) => name).sort();
}

type Numbers = readonly bigint[];
type KeyOf = (numbers: Numbers) => string;

/** What tells generations apart, given all names from the one written first to the last. Null: nothing does for sure. */
function generationKey(all: readonly Numbers[]): KeyOf | null {
  const length = all[0]?.length ?? 0;
  if (all.some((numbers) => numbers.length !== length)) return null;
  const varying = all[0]?.flatMap((value, at) => (all.some((numbers) => numbers[at] !== value) ? [at] : [])) ?? [];
  // `epoch=3-step=1200`: every number only ever grows. A single one may also go round (`restart.1`, `.2`, `.1`).
  if (varying.length < 2 || varying.every((at) => neverFalls(all, at))) return (numbers) => numbers.join(",");
  // `ckpt-500-0`, `ckpt-500-1`: one number names the step, and with each of its values come the same others.
  const steps = varying.filter((at) => neverFalls(all, at) && comesInWholeSets(all, at));
  const [step, other] = steps;
  return step === undefined || other !== undefined ? null : (numbers) => String(numbers[step]);
}

function neverFalls(all: readonly Numbers[], at: number): boolean {
  return all.every((numbers, index) => index === 0 || (numbers[at] ?? 0n) >= (all[index - 1]?.[at] ?? 0n));
}

/** With each value at `at` the same other numbers; with the newest one some may be missing, for who died while saving. */
function comesInWholeSets(all: readonly Numbers[], at: number): boolean {
  const sets = new Map<bigint, Set<string>>();
  for (const numbers of all) {
    const value = numbers[at] ?? 0n;
    const set = sets.get(value) ?? new Set<string>();
    sets.set(value, set.add(numbers.toSpliced(at, 1).join(",")));
  }
  const [first = new Set<string>(), ...later] = sets.values();
  return (
    first.size > 1 &&
    later.every(
      (set, index) =>
        [...set].every((rest) => first.has(rest)) && (set.size === first.size || index === later.length - 1),
    )
  );
}

/** Numbers of a name that may name a generation: not those of ranks and parts. */
function numbersOf(name: string): Numbers {
  const numbers = name.replaceAll(/\d+-of-\d+/gi, "").matchAll(/([a-z]*)[^a-z\d]?(\d+)/gi);
  return [...numbers].flatMap(([, word = "", digits = "0"]) => (PART.test(word) ? [] : [BigInt(digits)]));
}

const PART = /^(rank|proc|part|shard|node|task|pe|mpi|worker|thread|gpu|chunk|block|slice|tile)s?$/i;
