/** What in a batch script will not do what its author expects: guesses from its text, for a person. */

/** One line each, beginning with the script's name and line numbers. `name` is the file's name, `unread` from readBatchScript. */
export function scriptWarnings(text: string, name: string, unread: readonly number[]): readonly string[] {
  const lines = text.split("\n").map((line, index): Line => ({ number: index + 1, text: line }));
  const commands = lines.filter(({ text: line }) => !/^\s*(#|$)/.test(line));
  const at = (numbers: readonly number[]) => `${name}:${numbers.join(",")}`;
  const found = (all: readonly Line[], what: RegExp) =>
    all.flatMap((line) => (what.test(line.text) ? [line.number] : []));
  const told = (numbers: readonly number[], warning: string) =>
    numbers.length === 0 ? [] : [`${at(numbers)}: ${warning}`];
  return [
    ...told(
      unread,
      "this #SBATCH line stands behind the first command, where sbatch does not read it either: move it above",
    ),
    ...told(
      found(lines, /^#(PBS|BSUB|DW|BB)\b/),
      "lines for other programs than sbatch are not read; give what they say as options",
    ),
    ...told(
      found(commands, /\bscontrol\s+requeue(hold)?\b/),
      "scontrol requeue would throw this attempt away: leave with status 99 instead (saved, more to do), the next one follows",
    ),
    ...told(
      found(commands, submitsItself(name)),
      "it submits itself again: leave that to stint, or two chains work on one checkpoint",
    ),
    ...told(
      found(commands, /(^\s*|[;&|(]\s*)(\w+=\S*\s+)*(exec\s+)?timeout\s+\S/),
      "timeout is not needed: TERM comes by itself, the margin before the limit, and a changed limit counts",
    ),
    ...told(
      found(
        commands,
        /dirname\s+(--\s+)?["']?\$\{?(0|BASH_SOURCE)|\$\{(0|BASH_SOURCE(\[0\])?)%|os\.path\.\w+\(__file__/,
      ),
      `its own place is that of a copy in the job folder, as with sbatch; to run the file itself: -- ./${name}`,
    ),
    ...trapWarnings(text, commands, told),
  ];
}

interface Line {
  readonly number: number;
  readonly text: string;
}

function submitsItself(name: string): RegExp {
  const own = name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`\\bsbatch\\b.*(\\$\\{?(0|BASH_SOURCE)\\b|(^|[\\s/"'])${own}($|[\\s"';&|)]))`);
}

/** Of shells only: other languages run their handlers at once. */
function trapWarnings(
  text: string,
  commands: readonly Line[],
  told: (numbers: readonly number[], warning: string) => readonly string[],
): readonly string[] {
  if (!/^#!.*\b(ba|da|k|z)?sh\b/.test(text)) return [];
  const traps = commands.filter(({ text: line }) => /\btrap\s+(--\s+)?[^-\s]/.test(line));
  const term = traps.filter(({ text: line }) => /\b(SIG)?TERM\b|\b15\b/.test(line));
  const other = traps.filter(
    ({ text: line }) => !term.some((one) => one.text === line) && /\b(SIG)?(USR[12]|CONT|XCPU)\b|\b1[02]\b/.test(line),
  );
  const waits = commands.some(({ text: line }) => /(^|[;&|]\s*|\s)wait\b/.test(line));
  return [
    ...told(
      waits ? [] : term.map(({ number }) => number),
      "a shell runs this trap only when its program in the foreground has ended; TERM comes to that program as well, so it must save by itself, or be started with & and waited for",
    ),
    ...told(
      other.map(({ number }) => number),
      "no such signal is sent: TERM comes to every process, the margin before the limit; trap TERM",
    ),
  ];
}
