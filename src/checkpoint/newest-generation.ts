/** Which of several checkpoint files are the newest generation: from names, times and sizes, or an honest "cannot be told". */

export interface Written {
  readonly name: string;
  /** When it was last written, by the file system's own clock; only held against its neighbours. */
  readonly writtenMs: number;
  readonly bytes: number;
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
  const columns = generationColumns(byTime.map(({ numbers }) => numbers));
  if (columns === null) return { why: "their names carry several numbers, or not all of them do" };
  const keys = byTime.map(({ numbers }) => columns.map((at) => numbers[at]?.value).join(","));
  const newest = byTime.filter((_, index) => keys[index] === keys.at(-1));
  const before = byTime.filter((_, index) => keys[index] !== keys.at(-1)).at(-1);
  if (before === undefined) return { why: "no number in their names tells one generation from the next" };
  const first = newest[0];
  if (first === undefined || first.writtenMs <= before.writtenMs)
    return { why: `${before.name} was written later than ${first?.name ?? "the first of the newest"}` };
  const gapMs = first.writtenMs - before.writtenMs;
  const named = columns.some((at) => namesGenerations(byTime.map(({ numbers }) => numbers[at])));
  if (gapMs < TOGETHER_MS && (newest.length === 1 || !named))
    return { why: `${before.name} and ${first.name} were written within a second, as parts of one checkpoint are` };
  const doubt = named ? null : mayBeParts(byTime, columns, gapMs);
  return doubt === null ? newest.map(({ name }) => name).sort() : { why: doubt };
}

interface NumberInName {
  /** The letters before it. */
  readonly word: string;
  readonly value: bigint;
}
type Numbers = readonly NumberInName[];

/** Which numbers of the names tell generations apart, given all from the one written first to the last. Null: none for sure. */
function generationColumns(all: readonly Numbers[]): readonly number[] | null {
  const length = all[0]?.length ?? 0;
  if (all.some((numbers) => numbers.length !== length)) return null;
  const varying = (all[0] ?? []).flatMap(({ value }, at) => (all.some((n) => n[at]?.value !== value) ? [at] : []));
  // `epoch=3-step=1200`: every number only ever grows. A single one may also go round (`restart.4`, `.5`, `.4`).
  if (varying.length < 2 || varying.every((at) => neverFalls(all, at))) return varying;
  // `ckpt-500-0`, `ckpt-500-1`: one number names the step, and with each of its values come the same others.
  const steps = varying.filter((at) => neverFalls(all, at) && comesInWholeSets(all, at));
  return steps.length === 1 ? steps : null;
}

function neverFalls(all: readonly Numbers[], at: number): boolean {
  return all.every((numbers, index) => index === 0 || valueAt(numbers, at) >= valueAt(all[index - 1] ?? [], at));
}

/** With each value at `at` the same other numbers; with the newest one some may be missing, for who died while saving. */
function comesInWholeSets(all: readonly Numbers[], at: number): boolean {
  const sets = new Map<bigint, Set<string>>();
  for (const numbers of all) {
    const value = valueAt(numbers, at);
    const set = sets.get(value) ?? new Set<string>();
    const others = numbers.toSpliced(at, 1).map((other) => other.value);
    sets.set(value, set.add(others.join(",")));
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

function valueAt(numbers: Numbers, at: number): bigint {
  return numbers[at]?.value ?? 0n;
}

/** A number that is called a step, or whose values lie apart, is no rank's and no part's. */
function namesGenerations(column: readonly (NumberInName | undefined)[]): boolean {
  const values = distinct(column.map((number) => number?.value ?? 0n));
  return column.every((number) => STEP.test(number?.word ?? "")) || values.every(liesApart);
}

function liesApart(value: bigint, index: number, values: readonly bigint[]): boolean {
  return index === 0 || value - (values[index - 1] ?? 0n) > 1n;
}

function distinct(values: readonly bigint[]): readonly bigint[] {
  return [...new Set(values)].sort((a, b) => (a < b ? -1 : 1));
}

/** Why what looks like generations may as well be the parts of one (`restart.0` … `restart.3`, a file a rank), or of a few. */
function mayBeParts(
  byTime: readonly (Written & { readonly numbers: Numbers })[],
  columns: readonly number[],
  gapMs: number,
): string | null {
  const runs = columns.some((at) => isFullRun(distinct(byTime.map(({ numbers }) => valueAt(numbers, at)))));
  if (runs && areAlike(byTime.map(({ bytes }) => bytes)))
    return "their numbers run from the first on without a gap, as those of ranks and parts of one checkpoint do";
  // Generations come at about the same distance; parts of a few generations come close together, with long gaps between.
  const meanMs = ((byTime.at(-1)?.writtenMs ?? 0) - (byTime[0]?.writtenMs ?? 0)) / (byTime.length - 1);
  return gapMs >= meanMs / 2
    ? null
    : "the last of them were written close together for the time between the others, as parts of one checkpoint are";
}

function isFullRun(values: readonly bigint[]): boolean {
  return values.every((value, index) => value === (values[0] ?? 0n) + BigInt(index)) && (values[0] ?? 0n) <= 1n;
}

/** At least half of them within a factor of two of the middle one: the first part of many holds more than the others. */
function areAlike(bytes: readonly number[]): boolean {
  const middle = bytes.toSorted((a, b) => a - b)[Math.floor((bytes.length - 1) / 2)] ?? 0;
  return bytes.filter((size) => size <= 2 * middle && size >= middle / 2).length * 2 >= bytes.length;
}

/** Numbers of a name that may name a generation: not those of ranks and parts. */
function numbersOf(name: string): readonly NumberInName[] {
  const numbers = name.replaceAll(/\d+-of-\d+/gi, "").matchAll(/([a-z]*)[^a-z\d]?(\d+)/gi);
  return [...numbers].flatMap(([, word = "", digits = "0"]) =>
    PART.test(word) ? [] : [{ word, value: BigInt(digits) }],
  );
}

const PART = /^(rank|proc|part|shard|node|task|pe|mpi|worker|thread|gpu|chunk|block|slice|tile)s?$/i;
const STEP = /^(global|time)?(step|iter|iteration|epoch|gen|generation|cycle|round|time)s?$/i;
