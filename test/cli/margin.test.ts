/** `margin: auto` as a person sees it. */
import { expect, test } from "vitest";
import { counting, newProject } from "./stint.ts";

interface Shown {
  readonly job: {
    readonly marginMs: number | null;
    readonly windowEndAtMs: number | null;
    readonly saves: readonly { readonly ms: number; readonly killed: boolean }[];
  };
  readonly attempts: readonly {
    readonly marginMs: number | null;
    readonly saving: { readonly ms: number; readonly killed: boolean } | null;
  }[];
}

test("status shows the margin in force, what it was sized from, and that it sizes itself", async () => {
  const project = newProject();
  const more = ["--limit", "5s", "--margin", "auto"];
  expect((await project.stint(["submit", ...counting("sim", 4_000, more)])).status).toBe(0);
  const look = async () => JSON.parse((await project.stint(["status", "sim", "--json"])).stdout) as Shown;
  let now = await look();
  for (const endAt = Date.now() + 20_000; now.job.saves.length === 0 || now.job.marginMs === null; ) {
    if (Date.now() > endAt) throw new Error("no second attempt was seen at work");
    now = await look();
  }
  const [first, second] = now.attempts;
  expect(first?.saving).toEqual(now.job.saves[0]);
  expect(first?.saving?.killed).toBe(false);
  // Half of the limit, but for the moment in which the runner starts; then a save of next to nothing.
  expect(first?.marginMs).toBeGreaterThan(2_000);
  expect(second?.marginMs).toBe(now.job.marginMs);
  expect(now.job.marginMs).toBeLessThan(1_800);
  const { stdout } = await project.stint(["status", "sim", "--spec"]);
  expect(stdout).toMatch(/^margin +auto +flag --margin$/m);
  expect(stdout).toMatch(/^margin +.*\d measured saves?, the longest 0\.\ds$/m);
  expect((await project.stint(["cancel", "sim"])).status).toBe(0);
});
