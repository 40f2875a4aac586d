/** A new revision of a job's specification: made where something is different, and once. */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readJob } from "../../src/chain/operations/job-on-file.ts";
import { requireProject } from "../../src/chain/operations/project.ts";
import { reviseSpec } from "../../src/chain/operations/revise-spec.ts";
import type { JobSpec } from "../../src/core/index.ts";
import { withAllocation } from "../../src/spec/index.ts";
import { Project } from "./harness.ts";

const HERE = { id: "77", endAtMs: 9_000_000_000_000, by: "squeue", cpus: 2, error: null };

async function jobOnFile(change: (spec: JobSpec) => object = (spec) => spec) {
  const made = await Project.make("exit 0");
  const path = join(made.job.folder, "spec", "0001.json");
  const revision = { version: 1, nonce: "n", atMs: 1, by: "tester", spec: change(made.spec), origins: {} };
  writeFileSync(path, JSON.stringify(revision));
  const project = requireProject({ cwd: made.folder, environment: {} });
  const job = await readJob(project.folder, made.job);
  if (job === null) throw new Error(`${path} is not seen`);
  return { project, job, revisions: () => readdirSync(join(made.job.folder, "spec")) };
}

test("what an older version did not know yet, and another order, make no revision", async () => {
  const { project, job, revisions } = await jobOnFile(
    ({ allocationEndAtMs: _end, allocationCpus: _cpus, allocationId: _id, ...older }) => older,
  );
  await reviseSpec(project, job, withAllocation(job.spec, {}, null));
  expect(revisions()).toEqual(["0001.json"]);
});

test("two that say the same at once do not refuse each other, and one that says something else is refused", async () => {
  const { project, job, revisions } = await jobOnFile();
  const bound = withAllocation(job.spec, {}, HERE);
  await Promise.all([reviseSpec(project, job, bound), reviseSpec(project, job, bound)]);
  expect(revisions()).toEqual(["0001.json", "0002.json"]);
  const other = withAllocation(job.spec, {}, { ...HERE, id: "78" });
  await expect(reviseSpec(project, job, other)).rejects.toThrow("were changed at the same time");
  expect(revisions()).toEqual(["0001.json", "0002.json"]);
});
