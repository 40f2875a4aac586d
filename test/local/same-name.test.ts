/** `rm`, then a new job of the same name, while a shepherd of the old one is still there. */
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createHome, createSpec } from "../../src/journal/index.ts";
import { COUNTER, eventually, Project, signal } from "./harness.ts";

describe("a shepherd whose job was removed and made anew under the same name", () => {
  for (const [when, script] of [
    ["after its attempt was settled", COUNTER],
    ["and whose runner was killed", `${COUNTER.replace("exit 0", "")}\nsleep 1000`],
  ] as const)
    it(`${when}, writes nothing into the new one`, async () => {
      const project = await Project.make(script, { total: 10, killWaitMs: 200 });
      await project.advance();
      await project.untilSteps(3);
      const [shepherd, runner] = [await project.shepherdOf(1), await project.runnerOf(1)];
      signal(shepherd, "SIGSTOP");
      if (script === COUNTER) await eventually("its end", async () => (await project.attempts())[0]?.settled != null);
      else signal(runner, "SIGKILL");
      await makeAnew(project);
      const before = contents(project.job.folder);
      signal(shepherd, "SIGCONT");
      await eventually("that it is gone", () => project.processes().length === 0);
      // `runner.log` proves nothing, and its lines say who has written them.
      expect(contents(project.job.folder)).toEqual(before);
    });

  it("while it waits for its turn, leaves, and starts nothing", async () => {
    const project = await Project.make(COUNTER, { total: 60, limitMs: 60_000, ahead: 1 });
    await project.advance();
    await project.untilSteps(3);
    const waiting = await project.shepherdOf(2);
    await eventually("its note", async () => (await project.localRecord(2))?.phase === "pending");
    signal(waiting, "SIGSTOP");
    const [shepherd, runner] = [await project.shepherdOf(1), await project.runnerOf(1)];
    for (const ref of [shepherd, runner]) signal(ref, "SIGKILL");
    await makeAnew(project, 2);
    const before = contents(project.job.folder);
    signal(waiting, "SIGCONT");
    await eventually("that it is gone", async () => (await gone(waiting.pid)) || null);
    expect(contents(project.job.folder)).toEqual(before);
  });
});

/** As `rm` and another `submit` do it, up to the claim. */
async function makeAnew(project: Project, attempts = 1): Promise<void> {
  const { job, task, files, spec } = project;
  renameSync(job.folder, join(project.folder, ".stint", `.tmp-removed-${randomUUID()}`));
  await createHome(files, job, randomUUID(), Date.now());
  await createSpec(files, job, 1, {
    version: 1,
    nonce: randomUUID(),
    atMs: Date.now(),
    by: "tester",
    spec,
    origins: {},
  });
  writeFileSync(join(job.folder, "env.json"), JSON.stringify({ version: 1, env: {} }));
  mkdirSync(task.folder, { recursive: true });
  for (let number = 1; number <= attempts; number++) mkdirSync(project.attemptFolder(number), { recursive: true });
}

/** Every file below a folder with its text, but for logs. */
function contents(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    const path = join(folder, name);
    if (!name.endsWith(".log")) found[name] = statSync(path).isFile() ? readFileSync(path, "utf8") : "";
  }
  return found;
}

async function gone(pid: number): Promise<boolean> {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}
