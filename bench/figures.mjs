// Numbers of several rounds as one figure.

/** One line of the table. `limit`: what the project wants to hold, on the median; null: for the record only. */
export function figure(what, unit, values, limit = null, note = null) {
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length === 0) throw new Error(`nothing was measured for: ${what}`);
  return { what, unit, median: median(sorted), min: sorted[0], max: sorted.at(-1), rounds: sorted.length, limit, note };
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return Number.isInteger(middle) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[Math.floor(middle)];
}

/** Applications and records are stamped with the wall clock: how far it was set since, in ms. */
export function clockDrift() {
  const before = Date.now() - performance.now();
  return () => Math.round(Date.now() - performance.now() - before);
}
