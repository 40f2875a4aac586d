/** The scheduler's account of a job as `stint status` shows it, and what the look costs. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { slurmCommands } from "./slurm-commands.ts";
import { attemptsOnFile, counting, newProject, readRecord, type TestProject, until } from "./stint.ts";

interface Shown {
  readonly job: { readonly state: string };
  readonly attempts: readonly {
    readonly verdict: string;
    readonly accounting: {
      readonly elapsedMs: number | null;
      readonly cpuTotalMs: number | null;
      readonly state: string;
      readonly conflicts: readonly string[];
    } | null;
  }[];
}

async function shown(project: TestProject, env: Readonly<Record<string, string>> = {}): Promise<Shown> {
  const { status, stdout, stderr } = await project.stint(["status", "sim", "--json"], { env });
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout) as Shown;
}

test("a finished local job is shown with what its scheduler counted; a contradiction is a line of its own", async () => {
  const project = newProject();
  const ran = await project.stint(["run", "--quiet", ...counting("sim", 40)]);
  expect(ran.status, ran.stderr).toBe(0);
  const numbers = attemptsOnFile(project, "sim");
  await until(
    () =>
      numbers.every((number) => {
        const shepherd = readRecord<{ guardian: { pid: number } }>(project, "sim", number, "started.json")?.guardian
          .pid;
        return shepherd === undefined || !existsSync(`/proc/${shepherd}`);
      }),
    "the end of the shepherds",
  );
  const { attempts } = await shown(project);
  const started = attempts.filter(({ verdict }) => verdict !== "never-ran");
  expect(started.length).toBeGreaterThanOrEqual(2);
  for (const { accounting } of started) {
    expect(accounting).toMatchObject({ state: "COMPLETED", conflicts: [] });
    expect(accounting?.elapsedMs).toBeGreaterThan(0);
    expect(accounting?.cpuTotalMs).toBeGreaterThan(0);
  }
  expect((await project.stint(["status", "sim"])).stdout).not.toContain("accounting");

  const path = join(project.jobFolder("sim"), "tasks/0/attempts/0001/accounting.json");
  writeFileSync(path, readFileSync(path, "utf8").replace('"COMPLETED"', '"TIMEOUT"'));
  const line = "accounting    attempt 1: accounting says TIMEOUT, the attempt was settled as checkpointed";
  for (const more of [[], ["--attempts"]])
    expect((await project.stint(["status", "sim", ...more])).stdout.split("\n")).toContain(line);
});

test("Slurm's accounting is asked once by a look at a job that is over, never again, and not waited for", async () => {
  const project = newProject();
  const { path } = slurmCommands(project.folder);
  const env = { PATH: path };
  const bin = path.split(":")[0] ?? "";
  const words = ["--scheduler", "slurm", "--limit", "10m", "--name", "sim", "--ahead", "2", "--", "sleep", "60"];
  const submitted = await project.stint(["submit", ...words], { env });
  expect(submitted.status, submitted.stderr).toBe(0);
  const cancelled = await project.stint(["cancel", "sim"], { env });
  expect(cancelled.stdout, cancelled.stderr).toContain("cancelled");
  const say = (lines: readonly string[]): void =>
    writeFileSync(
      join(bin, "sacct"),
      ["#!/bin/sh", 'cd "$(dirname "$0")"', 'echo "$*" >>asked', ...lines, ""].join("\n"),
    );
  const asked = (): readonly string[] =>
    existsSync(join(bin, "asked")) ? readFileSync(join(bin, "asked"), "utf8").trimEnd().split("\n") : [];

  // Without an answer it is shown without.
  say(["exec sleep 60"]);
  const beganMs = Date.now();
  expect((await shown(project, env)).attempts.map(({ accounting }) => accounting)).toEqual([null, null]);
  expect(Date.now() - beganMs).toBeLessThan(10_000);
  expect(asked()).toHaveLength(1);

  const at = new Date().toISOString().slice(0, 19);
  const row = (id: number) =>
    `echo '${id}|CANCELLED by 0|0:0|${at}|None|${at}|None assigned|c|${at}|0|00:00:00|1||00:00:00|00:00:00|00:00:00||250M|main|lab'`;
  say([row(1), row(2)]);
  const { job, attempts } = await shown(project, env);
  expect(job.state).toBe("over");
  expect(attempts.map(({ accounting }) => accounting)).toEqual(
    [1, 2].map(() => expect.objectContaining({ state: "CANCELLED", elapsedMs: 0, cpuTotalMs: null, conflicts: [] })),
  );
  expect(asked()).toHaveLength(2);
  expect(asked()[1]).toContain("--jobs=1,2 ");
  await shown(project, env);
  await project.stint(["status", "sim"], { env });
  expect(asked()).toHaveLength(2);
  // No scheduler but this one knows of it.
  rmSync(join(project.folder, ".stint"), { recursive: true });
});
