/**
 * Slurm's short form of node names, written out: `n[1-2,07],login` → n1, n2, n07, login. Several brackets in one name
 * multiply. Empty for `(null)`, `None assigned`, `N/A` and the empty text.
 * @throws RangeError when a bracket is not closed or a range is wrong or longer than 100,000 nodes.
 */
export function expandNodeList(text: string): readonly string[] {
  if (text === "" || text === "(null)" || text === "None assigned" || text === "N/A" || text === "n/a") return [];
  return splitOutsideBrackets(text).flatMap(expandName);
}

function splitOutsideBrackets(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = "";
  for (const letter of text) {
    if (letter === "[") depth += 1;
    if (letter === "]") depth -= 1;
    if (letter === "," && depth === 0) {
      parts.push(part);
      part = "";
    } else part += letter;
  }
  if (depth !== 0) throw new RangeError(`node list "${text}" has a bracket that is not closed`);
  return [...parts, part].filter((name) => name !== "");
}

function expandName(name: string): readonly string[] {
  const match = /^([^[]*)\[([^\]]*)\](.*)$/s.exec(name);
  if (match === null) return [name];
  const [, head = "", ranges = "", tail = ""] = match;
  const tails = expandName(tail);
  return ranges.split(",").flatMap((range) => expandRange(range).flatMap((n) => tails.map((end) => head + n + end)));
}

function expandRange(range: string): readonly string[] {
  const match = /^(\d+)(?:-(\d+))?$/.exec(range);
  if (match === null) throw new RangeError(`node list has the range "${range}"; expected a number or two with a dash`);
  const [, from = "", to = from] = match;
  const count = Number(to) - Number(from) + 1;
  if (count < 1 || count > 100_000) throw new RangeError(`node list has the range "${range}"`);
  return Array.from({ length: count }, (_, i) => String(Number(from) + i).padStart(from.length, "0"));
}
