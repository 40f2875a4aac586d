/** Memory sizes as Slurm writes them: powers of 1024, and a bare number is mebibytes. */

export type ParsedMemory =
  | { readonly kind: "memory"; readonly bytes: number; readonly per: "node" | "cpu" | null }
  | { readonly kind: "error"; readonly error: string };

/**
 * Reads `4000` (MiB), `512K`, `8G`, `1.5T`, `8GB`, `8GiB`, and accounting's `4Gn` (per node) and `4000Mc` (per CPU).
 * Capital or small letters; all units are powers of 1024. Rounded up to whole bytes.
 */
export function parseMemory(text: string): ParsedMemory {
  const match = /^(\d+(?:\.\d+)?)(?:([kmgtpe])(?:i?b)?)?([nc])?$/i.exec(text.trim());
  if (match === null) {
    return {
      kind: "error",
      error: `cannot read "${text}" as a memory size. Accepted: 4000 (MiB), 512K, 4000M, 8G, 1.5T`,
    };
  }
  const power = UNITS.indexOf((match[2] ?? "m").toUpperCase()) + 1;
  const bytes = Math.ceil(Number(match[1]) * 1024 ** power);
  if (!Number.isSafeInteger(bytes)) return { kind: "error", error: `"${text}" is too large a memory size` };
  const per = match[3]?.toLowerCase();
  return { kind: "memory", bytes, per: per === "n" ? "node" : per === "c" ? "cpu" : null };
}

/** `0 B`, `512 B`, `1.5 KiB`, `8 GiB`: at most three significant digits. `bytes` must be finite and ≥ 0. */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes) || bytes < 0) throw new RangeError(`not a size: ${bytes}`);
  let value = Math.round(bytes);
  let power = 0;
  // 1023.5 would be printed as 1024 of the smaller unit.
  while (value >= 1023.5 && power < UNITS.length) {
    value /= 1024;
    power += 1;
  }
  const digits = value >= 100 || power === 0 ? 0 : value >= 10 ? 1 : 2;
  return `${Number(value.toFixed(digits))} ${power === 0 ? "B" : `${UNITS[power - 1]}iB`}`;
}

/** For `sbatch --mem`, which takes whole numbers only: the largest unit that is exact, else KiB rounded up. */
export function formatSlurmMemory(bytes: number): string {
  if (!Number.isFinite(bytes) || bytes < 0) throw new RangeError(`not a size: ${bytes}`);
  if (bytes === 0) return "0";
  // sbatch knows no unit above T.
  for (const power of [4, 3, 2]) {
    const unit = 1024 ** power;
    if (bytes % unit === 0) return `${bytes / unit}${UNITS[power - 1]}`;
  }
  return `${Math.ceil(bytes / 1024)}K`;
}

const UNITS = "KMGTPE";
