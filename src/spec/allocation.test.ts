import { expect, test } from "vitest";
import { jobSpec } from "../../test/support/job-spec.ts";
import type { AllocationHere } from "../core/index.ts";
import { isBoundOtherwise, withAllocation } from "./allocation.ts";

const here: AllocationHere = { id: "42", endAtMs: 9_000_000, by: "squeue", cpus: 8, error: null };
const origins = { limit: "flag --limit" };

test("a local job is bounded by the allocation that it is typed in, and says whose end it is", () => {
  const { spec, origins: from, notices } = withAllocation(jobSpec(), origins, here);
  expect(spec).toEqual(jobSpec({ allocationEndAtMs: 9_000_000, allocationCpus: 8, allocationId: "42" }));
  expect(from).toEqual({
    limit: "flag --limit",
    "allocation-end": "allocation 42 (squeue)",
    "allocation-cpus": "allocation 42 (SLURM_CPUS_ON_NODE)",
    "allocation-id": "environment SLURM_JOB_ID",
  });
  expect(notices).toEqual([]);
});

test("another allocation, or none, takes the place of the one on file", () => {
  const first = withAllocation(jobSpec(), origins, here);
  const next = withAllocation(first.spec, first.origins, { ...here, id: "43", endAtMs: 9_500_000, cpus: null });
  expect(next.spec).toMatchObject({ allocationEndAtMs: 9_500_000, allocationCpus: null, allocationId: "43" });
  expect(next.origins).toEqual({
    limit: "flag --limit",
    "allocation-end": "allocation 43 (squeue)",
    "allocation-id": "environment SLURM_JOB_ID",
  });
  expect(withAllocation(next.spec, next.origins, null)).toEqual({ spec: jobSpec(), origins, notices: [] });
});

test("an end that nobody can tell is said, and bounds nothing; an allocation without an end bounds nothing either", () => {
  const silent = { ...here, endAtMs: null, error: "squeue gave no answer in time" };
  const { spec, notices } = withAllocation(jobSpec(), origins, silent);
  expect(spec.allocationEndAtMs).toBeNull();
  expect(notices).toEqual([
    "the end of allocation 42 is not known, so unless one is on file nothing bounds the job: squeue gave no answer in time",
  ]);
  expect(withAllocation(jobSpec(), origins, { ...here, endAtMs: null }).notices).toEqual([]);
});

test("an end that nobody can tell now does not take back the one on file of the same allocation, only that of another", () => {
  const silent = { ...here, endAtMs: null, error: "squeue gave no answer in time" };
  const first = withAllocation(jobSpec(), origins, here);
  const same = withAllocation(first.spec, first.origins, silent);
  expect(same).toMatchObject({ spec: first.spec, origins: first.origins });
  expect(same.notices).toEqual([
    "the end of allocation 42 is not known, so the one on file stands: squeue gave no answer in time",
  ]);
  expect(isBoundOtherwise(first.spec, same.spec)).toBe(false);
  const other = withAllocation(first.spec, first.origins, { ...silent, id: "43" });
  expect(other.spec).toMatchObject({ allocationEndAtMs: null, allocationId: "43" });
  expect(other.origins["allocation-end"]).toBeUndefined();
  expect(isBoundOtherwise(first.spec, other.spec)).toBe(true);
  // It was said that it has none: that is an answer.
  expect(withAllocation(first.spec, first.origins, { ...here, endAtMs: null }).spec.allocationEndAtMs).toBeNull();
});

test("a job for Slurm itself is bounded by none", () => {
  const slurm = jobSpec({ scheduler: "slurm" });
  expect(withAllocation(slurm, origins, here)).toEqual({ spec: slurm, origins, notices: [] });
});
