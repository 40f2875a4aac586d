/** Acts on one job as the user who owns it (bundled by slurm-project.ts): the tests may be root, the chain's owner must not. */
import { randomUUID } from "node:crypto";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { advance, openWorld } from "../../src/chain/index.ts";
import type { JobSpec, Stop } from "../../src/core/index.ts";
import { blockingFolder } from "../../src/host/index.ts";
import {
  createHome,
  createSpec,
  createStop,
  type JobPlace,
  jobPlace,
  readSpec,
  taskPlace,
} from "../../src/journal/index.ts";

/** What the tests ask for; the answer is one JSON value on stdout. */
export type DriverRequest = { readonly stintFolder: string; readonly id: string } & (
  | {
      readonly verb: "make";
      readonly uuid: string;
      readonly spec: JobSpec;
      readonly environment: Readonly<Record<string, string>>;
      readonly runner: string;
    }
  | { readonly verb: "advance" }
  /** As an attached command: until the chain is over or held. */
  | { readonly verb: "drive"; readonly withinMs: number }
  | { readonly verb: "stop"; readonly kind: Stop["kind"] }
);

const request = JSON.parse(process.argv[2] ?? "") as DriverRequest;
const folder = blockingFolder();
const answer = await act(jobPlace(request.stintFolder, request.id));
process.stdout.write(JSON.stringify(answer));

async function act(job: JobPlace): Promise<unknown> {
  switch (request.verb) {
    case "make":
      return make(job, request);
    case "advance":
      return advance(await worldOf(job), taskPlace(job, 0));
    case "drive": {
      const world = await worldOf(job);
      const endAtMs = world.clock.monotonicMs() + request.withinMs;
      for (;;) {
        const outcome = await advance(world, taskPlace(job, 0));
        if (outcome.kind === "over" || outcome.kind === "held" || world.clock.monotonicMs() > endAtMs) return outcome;
        await world.clock.sleep(outcome.kind === "waiting" ? Math.min(outcome.lookAgainMs, 500) : 200);
      }
    }
    case "stop":
      await createStop(folder, job, { ...frame(), kind: request.kind, by: "tester" });
      return null;
  }
}

/** All that a submit makes before it claims anything. */
async function make(job: JobPlace, parts: Extract<DriverRequest, { verb: "make" }>): Promise<null> {
  const { spec, uuid, environment, runner } = parts;
  const runtime = join(job.stintFolder, "runtime", spec.runtime);
  mkdirSync(runtime, { recursive: true });
  copyFileSync(runner, join(runtime, "runner.mjs"));
  await createHome(folder, job, uuid, Date.now());
  await createSpec(folder, job, 1, { ...frame(), by: "tester", spec, origins: {} });
  writeFileSync(join(job.folder, "env.json"), JSON.stringify({ version: 1, env: environment }));
  await folder.makeFolder(taskPlace(job, 0).folder);
  writeFileSync(join(taskPlace(job, 0).folder, "reserve"), "x".repeat(64 * 1024));
  return null;
}

async function worldOf(job: JobPlace) {
  const found = await readSpec(folder, job);
  if (found === null) throw new Error(`no specification of ${job.id}`);
  return openWorld(job, found.revision.spec, { folder });
}

function frame(): { readonly version: number; readonly nonce: string; readonly atMs: number } {
  return { version: 1, nonce: randomUUID(), atMs: Date.now() };
}
