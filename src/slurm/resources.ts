/** Memory in a list such as `cpu=1,mem=250M,node=1`, in bytes (Slurm's letters are powers of 1024); null: not named. */
export function memoryBytes(resources: string): number | null {
  const match = /(?:^|,)mem=(\d+(?:\.\d+)?)([KMGTP]?)(?:,|$)/.exec(resources);
  if (match === null) return null;
  // Without a letter Slurm means MiB.
  const power = match[2] === "" ? 2 : " KMGTP".indexOf(match[2] ?? "");
  return Math.round(Number(match[1]) * 1024 ** power);
}
