/** Who may testify in a body's place. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { GoStart, ProcessRef, Started } from "../../src/core/index.ts";
import { thisProcess } from "../../src/host/index.ts";
import { attemptPlace, createRecord, readAttempt } from "../../src/journal/index.ts";
import { guardAfterDeath } from "../../src/runner/index.ts";
import { Project } from "./harness.ts";

describe("a guardian", () => {
  const self = thisProcess();
  const later = { ...self, startTicks: self.startTicks + 1 };
  const cases: readonly [string, ProcessRef | null, boolean][] = [
    ["named in started", self, true],
    ["of another process with its pid", later, false],
    ["of another boot", { ...self, bootId: "another" }, false],
    ["of another host", { ...self, host: "another" }, false],
    ["while started names none", null, false],
  ];
  for (const [who, guardian, testifies] of cases)
    it(`${who} ${testifies ? "testifies" : "neither sweeps nor testifies"}`, async () => {
      const project = await Project.make("", {});
      const place = attemptPlace(project.task, 1);
      const made = { version: 1, nonce: randomUUID(), atMs: Date.now() };
      const started: Started = {
        ...made,
        body: { ...self, pid: 4_000_000 },
        guardian,
        scheduler: "local",
        ref: "local/x/1/1",
        restartCount: 0,
        cgroup: null,
        tracking: "other",
        nodes: ["n"],
        limitEndAtMs: null,
        windowEndAtMs: null,
        allocation: {},
        outputOffsetBytes: { stdout: 0, stderr: 0 },
      };
      const go: GoStart = { ...made, what: "start", provedBy: 0, proofs: [], progressBefore: { state: "absent" } };
      await project.files.makeFolder(place.folder);
      await createRecord(project.files, join(place.folder, "started.json"), started);
      await createRecord(project.files, join(place.folder, "go.json"), go);
      let swept = 0;
      const answer = await guardAfterDeath({
        world: await project.world(),
        place,
        spec: project.spec,
        guardian: self,
        async sweep() {
          swept++;
          return [];
        },
        usage: () => ({ cpuUserMs: null, cpuSystemMs: null }),
      });
      expect({ answer, swept }).toEqual({ answer: testifies, swept: testifies ? 1 : 0 });
      const { exited } = await readAttempt(project.files, place);
      expect(exited?.by ?? null).toBe(testifies ? "guardian" : null);
    });
});
