/** `rm` beside a `resume` of the same job: one of the two sees the other. */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeJob, requireProject } from "../../src/chain/index.ts";
import { ownerPlace, readOwner, resolveCheckpoint } from "../../src/checkpoint/index.ts";
import type { JobSpec } from "../../src/core/index.ts";
import { blockingFolder, type Folder } from "../../src/host/index.ts";
import { createStop, jobPlace, taskPlace } from "../../src/journal/index.ts";
import { otherOwner } from "../../src/runner/checkpoint-objections.ts";
import { counting, me, newProject, readRecord, type TestProject, until } from "./stint.ts";

async function drained(project: TestProject): Promise<void> {
  await project.stint(["submit", ...counting("sim", 400, ["--limit", "60s"])]);
  expect((await project.stint(["drain", "sim", "--wait"])).status).toBe(0);
  // Drained is not finished: whoever waits in a script must not go on as if it were.
  expect((await project.stint(["wait", "sim"])).status).toBe(75);
}

/** What the job's body would say of its checkpoint now, and the owner on file. */
async function ownership(project: TestProject) {
  const place = jobPlace(join(project.folder, ".stint"), `/${me}/sim`);
  const { spec } = JSON.parse(readFileSync(join(place.folder, "spec/0001.json"), "utf8")) as { spec: JobSpec };
  const { uuid } = JSON.parse(readFileSync(join(place.folder, "home.json"), "utf8")) as { uuid: string };
  if (spec.checkpoint === null) throw new Error("no checkpoint");
  const folder = blockingFolder();
  const owners = ownerPlace(await resolveCheckpoint(spec.checkpoint, spec.cwd), place.stintFolder);
  return {
    objection: await otherOwner(folder, spec, taskPlace(place, 0), uuid),
    owner: await readOwner(folder, owners),
  };
}

test("a job that is resumed while it is removed stays, and owns its checkpoint again", async () => {
  const project = newProject();
  await drained(project);
  const found = requireProject({ cwd: project.folder, environment: {} });
  const place = jobPlace(found.stintFolder, `/${me}/sim`);
  let objection: string | null = null;
  // The resume's word gets on file right behind the owner none.
  const folder: Folder = {
    ...found.folder,
    async createOnce(path, content) {
      const answer = await found.folder.createOnce(path, content);
      if (content.includes('"state":"none"')) {
        const created = { version: 1, nonce: randomUUID(), atMs: Date.now() };
        await createStop(found.folder, place, { ...created, kind: "resume", by: "test" });
        objection = (await ownership(project)).objection;
      }
      return answer;
    },
  };
  await expect(removeJob({ ...found, folder }, place)).rejects.toMatchObject({ code: "not-finished", exitStatus: 75 });
  // A body that looks in between starts nothing.
  expect(objection).toContain("was given free");
  expect(await ownership(project)).toMatchObject({ objection: null, owner: { kind: "task" } });
  expect((await project.stint(["resume", "sim"])).status).toBe(0);
  expect((await project.json(["status", "sim"])).job?.state).toMatch(/running|waiting/);
  expect((await project.stint(["cancel", "sim"])).status).toBe(0);
});

test("a job that is removed leaves its checkpoint to nobody, and the name and the checkpoint can be used again", async () => {
  const project = newProject();
  await drained(project);
  expect((await project.stint(["rm", "sim"])).status).toBe(0);
  expect(existsSync(project.jobFolder("sim"))).toBe(false);
  expect((await project.stint(["submit", ...counting("sim", 400, ["--limit", "60s"])])).status).toBe(0);
  expect(await ownership(project)).toMatchObject({ objection: null, owner: { kind: "task" } });
  expect((await project.stint(["cancel", "sim"])).status).toBe(0);
});

for (const how of ["empty", "missing"] as const)
  test(`a running job whose specification is ${how} is damaged, not an unfinished submit: it is not removed`, async () => {
    const project = newProject();
    await project.stint(["submit", ...counting("sim", 400, ["--limit", "60s"])]);
    await until(() => readRecord(project, "sim", "0001", "application.json"), "the application");
    const spec = join(project.jobFolder("sim"), "spec/0001.json");
    const content = readFileSync(spec);
    if (how === "empty") writeFileSync(spec, "");
    else rmSync(spec);
    const line = `stint: ${spec} is ${how}, yet attempts are on file: put it back from a backup\n`;
    for (const command of ["status", "rm", "resume"])
      expect(await project.stint([command, "sim"]), command).toMatchObject({ status: 1, stdout: "", stderr: line });
    const table = await project.stint(["status"]);
    expect(table.stdout).toMatch(/^sim +unreadable /m);
    expect(existsSync(project.jobFolder("sim"))).toBe(true);
    writeFileSync(spec, content);
    expect((await project.json(["status", "sim"])).job?.state).toBe("running");
    // A stop is on file all the same, and the body, which needs no specification for it, ends the application.
    if (how === "empty") writeFileSync(spec, "");
    else rmSync(spec);
    const told = `${line.trimEnd()}; the cancel is on file, and what runs ends when it sees it\n`;
    expect(await project.stint(["cancel", "sim"])).toMatchObject({ status: 1, stdout: "", stderr: told });
    await until(() => readRecord(project, "sim", "0001", "exited.json"), "the end of the application");
    writeFileSync(spec, content);
    expect((await project.stint(["cancel", "sim"])).status).toBe(0);
    expect((await project.json(["status", "sim"])).job).toMatchObject({ state: "over", reason: "cancelled" });
  });

test("what a submit that died has left is removed", async () => {
  const project = newProject();
  await project.stint(["submit", ...counting("sim", 400, ["--limit", "60s"])]);
  expect((await project.stint(["cancel", "sim"])).status).toBe(0);
  for (const made of ["spec", "tasks"]) rmSync(join(project.jobFolder("sim"), made), { recursive: true });
  expect((await project.json(["status", "sim"])).job?.state).toBe("unfinished-submit");
  expect((await project.stint(["rm", "sim"])).status).toBe(0);
  expect(existsSync(project.jobFolder("sim"))).toBe(false);
});
