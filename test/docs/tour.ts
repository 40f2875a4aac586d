/** The README's ```console blocks: commands, what they print, and what of it may differ from one run to the next. */

export interface TourStep {
  readonly command: string;
  readonly output: string;
}

/** All commands in order: a line `$ command`, then its output up to the next command or the end of the block. */
export function tourOf(markdown: string): readonly TourStep[] {
  const blocks = [...markdown.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? "");
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((text) => {
        const end = text.indexOf("\n");
        return { command: text.slice(0, end), output: text.slice(end + 1) };
      }),
  );
}

/** Commands of the ```sh blocks that start with `stint`. */
export function shellLinesOf(markdown: string): readonly string[] {
  const blocks = [...markdown.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? "");
  return blocks.flatMap((block) => block.split("\n").filter((line) => line.startsWith("stint ")));
}

/** The words under which the README shows the user and the folder. */
export const SHOWN = { user: "ann", folder: "/home/ann/tour" } as const;

/**
 * Two runs of one command give equal texts after this: moments, spans, sizes, ids and counts that depend on speed are made
 * equal, and equal lines that follow each other (one a step, one an attempt) become one.
 */
export function normalise(output: string): string {
  const lines = output.split("\n").flatMap((line) => (PASSING.test(line) ? [] : [normaliseLine(line)]));
  return lines
    .filter((line, index) => line !== lines[index - 1])
    .join("\n")
    .trim();
}

/**
 * States that a look may catch or miss. There is a runner.log where the runner had something to say, and not where the
 * attached command was quicker to settle its attempt.
 */
const PASSING = /^(attempt \d+ (is |waits |runs|was )|waiting: |runner\.log$|\d+ (running|waiting)\b)/;

const VARYING: readonly (readonly [RegExp, string | ((...words: string[]) => string)])[] = [
  [/\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z?/g, "MOMENT"],
  // Where the reader's clock stands.
  [/\(UTC[+-][\d:]+\)/g, "(ZONE)"],
  [/[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}/g, "UUID"],
  // Without a control group that counts, a peak is a lower bound.
  [/(≥ )?\b[\d.]+ [KMG]iB/g, "SIZE"],
  // A sum that needs hours or minutes in the test would be another text; none does.
  [/(?<![\w/])\d+(\.\d+)?(ms|s)\b/g, "SPAN"],
  [/\b\d{10,13}\b/g, "EPOCH"],
  [/^(step|(?:count: )?.*\battempts?) \d+/g, "$1 N"],
  [/\b\d+ → \d+/g, "N → N"],
  // How far it had come; that it had come to its end is no chance.
  [/\b(\d+)\/(\d+)\b/g, (text, done, total) => (done === total ? text : `N/${total}`)],
  [/\(\d+ attempts?\b/g, "(N attempts"],
  [/^(\w+ +over +)\d+/, "$1N"],
  [/\b(at) \d+/g, "$1 N"],
  // A checkpoint that was typed out: some step.
  [/^\d+$/, "N"],
  [/"(provedBy|attempt|value)":\d+/g, '"$1":N'],
  [/^\d+( {2,})/, "N$1"],
  // A time of the samples file: only the first columns of its rows are the same everywhere.
  [/^EPOCH,.*/, "EPOCH,…"],
  [/ {2,}/g, "  "],
];

function normaliseLine(line: string): string {
  return VARYING.reduce(
    (text, [what, by]) => (typeof by === "string" ? text.replace(what, by) : text.replace(what, by)),
    line,
  ).trimEnd();
}
