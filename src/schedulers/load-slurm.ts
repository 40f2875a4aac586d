/** Slurm's part is loaded by those who need it: a local runner starts without it. */
export async function loadSlurm(): Promise<typeof import("./slurm/index.ts")> {
  return import("./slurm/index.ts");
}
