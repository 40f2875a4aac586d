// The table for people.

export function printTable(results, machine) {
  const rows = results.flatMap(({ figures }) => figures.map(cells));
  const headings = ["figure", "median", "min", "max", "n", "limit", ""];
  const widths = headings.map((heading, at) => Math.max(heading.length, ...rows.map((row) => row[at].length)));
  const line = (row) =>
    row.map((cell, at) => (at === 0 || at === 6 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]))).join("  ");
  const { processor, cores, node, loadBefore, loadAfter, clockSetMs } = machine;
  console.log(
    `${processor}, ${cores} cores, Node ${node}, load ${loadBefore.toFixed(1)} before and ${loadAfter.toFixed(1)} after\n`,
  );
  if (Math.abs(clockSetMs) > 5)
    console.log(`the clock was set by ${clockSetMs} ms meanwhile: times between processes are off\n`);
  console.log(line(headings).trimEnd());
  for (const row of rows) console.log(line(row).trimEnd());
  for (const { name, notes } of results) for (const note of notes ?? []) console.log(`\n${name}: ${note}`);
}

function cells({ what, unit, median, min, max, rounds, limit, note }) {
  const verdict = limit === null ? "" : median <= limit ? "ok" : "MISSED";
  return [
    what,
    `${number(median)} ${unit}`.trim(),
    number(min),
    number(max),
    String(rounds),
    limit === null ? "" : `≤ ${number(limit)}`,
    [verdict, note].filter((part) => part !== null && part !== "").join("; "),
  ];
}

function number(value) {
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}
