/** Help from the table of options. */
import type { FlagOption } from "./flag-option.ts";

/**
 * One entry for each option, in groups, wrapped to `width` columns. `groups`: only these headings (null: all). Options
 * without a help line are named together under their group.
 */
export function optionHelp(
  options: readonly FlagOption[],
  width: number,
  groups: readonly string[] | null = null,
): string {
  const headings = [...new Set(options.map((option) => option.group ?? ""))].filter(
    (group) => groups === null || groups.includes(group),
  );
  return headings
    .map((heading) =>
      groupHelp(
        heading,
        options.filter((option) => (option.group ?? "") === heading),
        width,
      ),
    )
    .join("\n");
}

function groupHelp(heading: string, options: readonly FlagOption[], width: number): string {
  const described = options.filter((option) => option.help !== "");
  const silent = options.filter((option) => option.help === "").map(spelling);
  const lines = described.flatMap((option) => entry(spelling(option), option.help, width));
  if (silent.length > 0) lines.push(...wrap(silent.join(", "), width - 2).map((line) => `  ${line}`));
  return [...(heading === "" ? [] : [`${heading}:`]), ...lines, ""].join("\n");
}

function spelling(option: FlagOption): string {
  const short = option.flags.filter((flag) => !flag.startsWith("--"));
  const long = option.flags.filter((flag) => flag.startsWith("--"));
  const argument = option.takes === "nothing" || option.help === "" ? "" : ` ${option.placeholder ?? "VALUE"}`;
  return `${[...short, ...long].join(", ")}${argument}`;
}

const INDENT = 30;

function entry(flags: string, help: string, width: number): readonly string[] {
  const lines = wrap(help, Math.max(20, width - INDENT)).map((line) => `${" ".repeat(INDENT)}${line}`);
  const head = `  ${flags}`;
  if (head.length > INDENT - 2) return [head, ...lines];
  return [`${head.padEnd(INDENT)}${(lines[0] ?? "").slice(INDENT)}`, ...lines.slice(1)];
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
