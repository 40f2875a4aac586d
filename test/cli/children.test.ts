/** Jobs that are submitted inside an attempt: children of its job, stopped with it, and never taken for a part of it. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CLI, me, newProject, QUICK, readRecord, type TestProject, until } from "./stint.ts";

/** The parent's application: does as $PLAN says, with a `stint` of this installation. */
const PARENT = `
stint() { "$NODE" "$CLI" "$@"; }
child() { stint "$1" --name fit --checkpoint fit.txt --total "\${TOTAL:-40}" "\${quick[@]}" --env STEP_SEC=0.05 --env CHECKPOINT_EVERY=5 -- bash "$COUNT" >>child.log 2>&1; echo "$?" >>answers; }
quick=(--limit 3s --margin 1s --kill-wait 1s --sample-interval 0.2s --backoff-first 0.1s --backoff-max 1s)
eval "$PLAN"
`;

function parent(project: TestProject, plan: string, more: readonly string[] = []): readonly string[] {
  writeFileSync(join(project.folder, "parent.sh"), PARENT);
  const environment = { NODE: process.execPath, CLI, COUNT: join(project.folder, "count.sh"), PLAN: plan };
  const variables = Object.entries(environment).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  // What the parent's own runner exports for its application would be settings for the child, were it anybody else's.
  const own = ["--checkpoint", "parent.txt", "--total", "7", "--checkpoint-every", "3"];
  return [...QUICK, "--name", "sim", ...own, ...variables, ...more, "--", "bash", "parent.sh"];
}

function answers(project: TestProject): string {
  const path = join(project.folder, "answers");
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

function steps(project: TestProject): readonly number[] {
  const path = join(project.folder, "fit.txt");
  return existsSync(path) ? [Number(readFileSync(path, "utf8"))] : [];
}

const children = async (project: TestProject): Promise<readonly { readonly job: string; readonly state: string }[]> =>
  JSON.parse((await project.stint(["status", "sim", "--json"])).stdout).children;

test("a run inside an attempt is a child, with its own settings, its own chain and its own name", async () => {
  const project = newProject();
  const ran = await project.stint(["run", ...parent(project, "child run; echo 7 >parent.txt", ["--limit", "60s"])]);
  expect(ran.status, ran.stderr + readFileSync(join(project.folder, "child.log"), "utf8")).toBe(0);
  expect(answers(project)).toBe("0\n");
  expect(existsSync(join(project.jobFolder("sim"), "children", "fit", "home.json"))).toBe(true);
  const { spec, origins, job } = JSON.parse((await project.stint(["status", "sim/fit", "--spec", "--json"])).stdout);
  expect(job).toMatchObject({ job: `/${me}/sim/fit`, state: "over", decision: "finish" });
  expect(job.attempts).toBeGreaterThan(1);
  expect(spec).toMatchObject({ checkpoint: { path: "fit.txt" }, total: 40, scheduler: "local" });
  expect(Object.values(origins).filter((origin) => String(origin).startsWith("environment"))).toEqual([]);
  expect((await project.json(["status", `/${me}/sim/fit`])).job?.job).toBe(`/${me}/sim/fit`);
  expect(await children(project)).toMatchObject([{ job: `/${me}/sim/fit`, state: "over" }]);
  expect((await project.stint(["status", "sim"])).stdout).toMatch(/\nchildren\nJOB .*\nsim\/fit +over .* finished/);
  expect((await project.stint(["rm", "sim"])).status).toBe(0);
  expect(existsSync(project.jobFolder("sim"))).toBe(false);
});

test("the end of its parent's window, and of its parent, ends no child; the parent cannot be removed before", async () => {
  const project = newProject();
  // Its first attempt submits and is ended at its window's end with all that is its own; the second one ends by itself.
  const plan = 'if [ "$STINT_ATTEMPT" = 1 ]; then child submit; sleep 100; exit 99; fi; echo 7 >parent.txt';
  const ran = await project.stint(["run", ...parent(project, plan, ["--saved-exits", "99,143"])], {
    env: { TOTAL: "100000" },
  });
  expect(ran.status, ran.stderr).toBe(0);
  const sweep = readRecord<{ readonly survivors: readonly number[] }>(project, "sim", "0001", "exited.json");
  expect(sweep?.survivors).toEqual([]);
  expect(await children(project)).toMatchObject([{ job: `/${me}/sim/fit`, state: "running" }]);
  const refused = await project.stint(["rm", "sim"]);
  expect(refused.status).toBe(75);
  expect(refused.stderr).toContain(
    "sim/fit is not over, so it cannot be removed; end it first with: stint cancel sim/fit",
  );
  // It has gone on meanwhile, and goes on.
  const before = steps(project)[0] ?? 0;
  await until(() => (steps(project)[0] ?? 0) > before + 10, "more steps of the child");
  expect((await project.stint(["drain", "sim/fit", "--wait", "--timeout", "30s"])).status).toBe(0);
  const { stdout } = await project.stint(["logs", "sim/fit"]);
  const gone = [...stdout.matchAll(/^step (\d+)$/gm)].map((match) => Number(match[1]));
  expect(gone).toEqual(Array.from({ length: gone.length }, (_, index) => index + 1));
  expect(gone.length).toBeGreaterThan(before + 10);
});

test("cancel ends the children too, resume lets them go on, and drain saves them", async () => {
  const project = newProject();
  const plan = "child submit; while sleep 0.1; do :; done";
  const args = parent(project, plan, ["--limit", "60s"]);
  const submitted = await project.stint(["submit", ...args], { env: { TOTAL: "100000" } });
  expect(submitted.status, submitted.stderr).toBe(0);
  await until(() => (steps(project)[0] ?? 0) > 10, "steps of the child");
  const cancelled = await project.stint(["cancel", "sim"]);
  expect(cancelled.status, cancelled.stderr).toBe(0);
  const state = async () => (await project.json(["status", "sim/fit"])).job;
  expect(await state()).toMatchObject({ state: "over", decision: "stop", reason: "cancelled" });
  const stopped = steps(project)[0] ?? 0;

  expect((await project.stint(["resume", "sim"])).status).toBe(0);
  await until(() => (steps(project)[0] ?? 0) > stopped + 10, "more steps of the child");
  expect(await state()).toMatchObject({ state: "running" });
  const drained = await project.stint(["drain", "sim", "--wait", "--timeout", "30s"]);
  expect(drained.status, drained.stderr).toBe(0);
  expect(await state()).toMatchObject({ state: "over", reason: "drained" });
  // Nothing of it is left to move it: what is on file stays as it is.
  expect(await children(project)).toMatchObject([{ state: "over" }]);
});

test("a child of a job that is being stopped is not started; without its parent a job is its own", async () => {
  const project = newProject();
  const plan = "trap 'child submit; exit 99' TERM; touch ready; while :; do sleep 0.1; done";
  expect((await project.stint(["submit", ...parent(project, plan, ["--limit", "60s"])])).status).toBe(0);
  await until(() => existsSync(join(project.folder, "ready")), "the parent at work");
  const drained = await project.stint(["drain", "sim", "--wait"]);
  expect(drained.status, drained.stderr).toBe(0);
  expect(answers(project)).toBe("75\n");
  expect(readFileSync(join(project.folder, "child.log"), "utf8")).toContain(
    "sim/fit is not started: sim is being drained",
  );
  expect(await children(project)).toEqual([]);

  rmSync(join(project.folder, "child.log"));
  const env = { STINT_JOB_ID: `/${me}/nobody`, STINT_TASK_ID: `/${me}/nobody/0` };
  const own = await project.stint(["run", ...QUICK, "--name", "own", "--", "true"], { env });
  expect(own.status, own.stderr).toBe(0);
  expect(own.stderr).toContain("submitted as a job of its own, not as a child");
  expect((await project.json(["status", "own"])).job?.job).toBe(`/${me}/own`);
});

test("a cancel of one task leaves the children, one of the job ends its tasks and them", async () => {
  const project = newProject();
  const plan = '[ "$STINT_TASK_INDEX" = 1 ] && child submit; while sleep 0.1; do :; done';
  const submit = parent(project, plan, ["--limit", "60s", "--tasks", "2", "--checkpoint", "parent-{task}.txt"]);
  const submitted = await project.stint(["submit", ...submit], { env: { TOTAL: "100000" } });
  expect(submitted.status, submitted.stderr).toBe(0);
  await until(() => (steps(project)[0] ?? 0) > 10, "steps of the child");
  expect((await project.stint(["cancel", "sim/1"])).status).toBe(0);
  const shown = JSON.parse((await project.stint(["status", "sim", "--json"])).stdout);
  expect(shown.tasks).toMatchObject([{ state: "running" }, { state: "over", reason: "cancelled" }]);
  expect(shown.children).toMatchObject([{ job: `/${me}/sim/fit`, state: "running" }]);
  expect((await project.stint(["status", "sim"])).stdout).toMatch(
    /\n0 +running[\s\S]*\nchildren\nJOB .*\nsim\/fit +running/,
  );
  const cancelled = await project.stint(["cancel", "sim"]);
  expect(cancelled.status, cancelled.stderr).toBe(0);
  expect(JSON.parse((await project.stint(["status", "sim", "--json"])).stdout)).toMatchObject({
    job: { state: "over" },
    children: [{ state: "over", reason: "cancelled" }],
  });
  const stopped = steps(project)[0] ?? 0;
  expect((await project.stint(["resume", "sim"])).status).toBe(0);
  await until(() => (steps(project)[0] ?? 0) > stopped + 10, "more steps of the child");
  expect((await project.stint(["cancel", "sim"])).status).toBe(0);
});
