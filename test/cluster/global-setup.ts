/** Stops the cluster after the tests where they started it; one that ran before, or STINT_KEEP_CLUSTER=1, is left alone. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { clusterRuns } from "./cluster.ts";

export default async function setup(): Promise<(() => void) | undefined> {
  if (process.getuid?.() !== 0 || process.env.STINT_TEST_SLURM_CONF !== undefined) return undefined;
  if (process.env.STINT_KEEP_CLUSTER === "1" || (await clusterRuns())) return undefined;
  return () => {
    execFileSync(fileURLToPath(new URL("down.sh", import.meta.url)), { stdio: "inherit" });
  };
}
