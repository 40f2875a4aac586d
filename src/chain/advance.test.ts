import { expect, test } from "vitest";
import { jobSpec } from "../../test/support/job-spec.ts";
import { policyOf } from "./advance.ts";

test("the end of an allocation bounds a local chain alone", () => {
  const bound = { allocationEndAtMs: 9_000_000 };
  expect(policyOf(jobSpec(bound), 0).allocationEndAtMs).toBe(9_000_000);
  expect(policyOf(jobSpec({ ...bound, scheduler: "slurm" }), 0).allocationEndAtMs).toBeNull();
  const { allocationEndAtMs: _, ...older } = jobSpec();
  expect(policyOf(older as ReturnType<typeof jobSpec>, 0).allocationEndAtMs).toBeNull();
});
