/** What `samples.csv` says of an attempt that nobody testified for. */

/**
 * Elapsed time of the newest whole row, in ms: the attempt ran at least so long. Null: no such row. A row that was cut short
 * (its writer died, the disk was full) says nothing.
 */
export function lastElapsedMs(csv: string): number | null {
  const [header = "", ...rows] = csv.split("\n");
  const columns = header.split(",");
  const at = columns.indexOf("elapsed_ms");
  // What stands behind the last end of line is not whole.
  for (const row of rows.slice(0, -1).reverse()) {
    const cells = row.split(",");
    const cell = cells[at] ?? "";
    if (at >= 0 && cells.length === columns.length && /^\d{1,15}$/.test(cell)) return Number(cell);
  }
  return null;
}
