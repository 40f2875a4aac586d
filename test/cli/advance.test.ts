import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { blockingFolder } from "../../src/host/index.ts";
import { createStop, jobPlace } from "../../src/journal/index.ts";
import { attemptsOnFile, counting, me, newProject, readRecord, until } from "./stint.ts";

const DRIVERS = 32;

test("32 processes call advance at once: one next attempt", async () => {
  const project = newProject();
  // A chain that may go on and that nobody moves: drained, and a resume put on file by hand.
  await project.stint(["submit", ...counting("sim", 60, ["--limit", "60s"])]);
  await until(() => existsSync(join(project.folder, "sim.txt")), "a first save");
  expect((await project.stint(["drain", "sim", "--wait"])).status).toBe(0);
  const before = attemptsOnFile(project, "sim");
  const stintFolder = join(project.folder, ".stint");
  const place = jobPlace(stintFolder, `/${me}/sim`);
  const stop = { version: 1, nonce: randomUUID(), atMs: Date.now(), kind: "resume", by: "test" } as const;
  await createStop(blockingFolder(), place, stop);

  const driver = join(project.folder, "driver.mjs");
  const bundle = { bundle: true, platform: "node", format: "esm", logLevel: "error" } as const;
  await build({ ...bundle, entryPoints: [new URL("driver.ts", import.meta.url).pathname], outfile: driver });
  const meeting = join(project.folder, "meeting");
  mkdirSync(meeting);
  const outcomes = await Promise.all(
    Array.from({ length: DRIVERS }, () => drive([driver, stintFolder, place.id, meeting, String(DRIVERS)])),
  );
  for (const { status, stderr } of outcomes) expect(status, stderr).toBe(0);
  const kinds = outcomes.map(({ stdout }) => (JSON.parse(stdout) as { kind: string }).kind);
  expect(kinds.filter((kind) => kind === "going").length).toBeGreaterThanOrEqual(1);
  expect(new Set(kinds)).toEqual(new Set(kinds.filter((kind) => kind === "going" || kind === "waiting")));

  expect((await project.stint(["wait", "sim"])).status).toBe(0);
  const next = attemptsOnFile(project, "sim").slice(before.length);
  expect(next).toHaveLength(1);
  expect(readRecord<{ after: number }>(project, "sim", next[0] ?? "", "claim.json")?.after).toBe(before.length);
  const steps = [...(await project.stint(["logs", "sim"])).stdout.matchAll(/^step (\d+)$/gm)].map((m) => Number(m[1]));
  expect(steps).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
  expect(readFileSync(join(project.folder, "sim.txt"), "utf8").trim()).toBe("60");
});

function drive(args: readonly string[]): Promise<{ status: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (bytes: Buffer) => {
      stdout += bytes.toString();
    });
    child.stderr.on("data", (bytes: Buffer) => {
      stderr += bytes.toString();
    });
    child.on("close", (status) => resolve({ status, stdout, stderr }));
  });
}
