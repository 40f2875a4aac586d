/** The site file as a user meets it. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { slurmCommands } from "./slurm-commands.ts";
import { newProject, QUICK, type TestProject } from "./stint.ts";

function siteFile(project: TestProject, yaml: string): string {
  const path = join(project.folder, "site.yaml");
  writeFileSync(path, yaml);
  return path;
}

test("defaults and rules of the site are frozen at submit, each with its place", async () => {
  const project = newProject();
  const site = siteFile(project, "caps:\n  attempts: 7\ndefaults:\n  kill-wait: 3s\n  budgets: {failures: 2}\n");
  const quick = ["--scheduler", "local", "--sample-interval", "0.2s", "--backoff-first", "0.1s", "--backoff-max", "1s"];
  const ran = await project.stint(["run", "--quiet", ...quick, "--name", "sim", "--", "true"], {
    env: { STINT_SITE: site },
  });
  expect(ran.status, ran.stderr).toBe(0);
  rmSync(site);
  const { spec, origins } = await project.json(["status", "sim", "--spec"]);
  expect(spec).toMatchObject({ killWaitMs: 3_000, budgets: { attempts: 7, failures: 2 } });
  expect(origins).toMatchObject({
    "kill-wait": `${site}:4`,
    "budgets.failures": `${site}:5`,
    "budgets.attempts": `${site}:2, the site's rule`,
  });
});

test("a site file that cannot be used refuses a submit with line and column, and hides nothing from status", async () => {
  const project = newProject();
  const env = { STINT_SITE: siteFile(project, "caps:\n  atempts: 7\n") };
  const refused = await project.stint(["submit", ...QUICK, "--", "true"], { env });
  expect(refused.status).toBe(2);
  expect(refused.stderr).toContain(`${env.STINT_SITE}:2:3: unknown key caps.atempts; did you mean caps.attempts?`);
  expect((await project.stint(["status"], { env })).status).toBe(0);
  const missing = await project.stint(["submit", ...QUICK, "--", "true"], {
    env: { STINT_SITE: "/no/such/site.yaml" },
  });
  expect(missing.status).toBe(2);
  expect(missing.stderr).toContain("/no/such/site.yaml (named by STINT_SITE) cannot be read: ENOENT");
});

test("a forbidden partition is refused at submit and at resume; a cap is said where it lowers a wish", async () => {
  const project = newProject();
  onTestFinished(() => rmSync(join(project.folder, ".stint"), { recursive: true, force: true }));
  const slurm = slurmCommands(project.folder);
  const env = { PATH: slurm.path, STINT_SITE: siteFile(project, "forbidden-partitions: [debug]\ncaps: {ahead: 1}\n") };
  const submit = (...more: readonly string[]) =>
    project.stint(["submit", "--scheduler", "slurm", "--name", "sim", ...more, "--", "true"], { env });
  const refused = await submit("-p", "debug");
  expect(refused.status).toBe(2);
  expect(refused.stderr).toContain("no chain may run in partition debug (flag -p): the site's rule (");
  const lowered = await submit("-p", "main", "--ahead", "3");
  expect(lowered.status, lowered.stderr).toBe(0);
  expect(lowered.stderr).toContain("ahead 3 (flag --ahead) becomes 1: the site's rule (");
  const resumed = await project.stint(["resume", "sim", "-p", "debug"], { env });
  expect(resumed.status).toBe(2);
  expect(resumed.stderr).toContain("no chain may run in partition debug");
  rmSync(join(project.folder, ".stint"), { recursive: true });
});

test("the poll floor counts at once, also for a chain that was submitted before", async () => {
  const project = newProject();
  const slurm = slurmCommands(project.folder);
  const env = { PATH: slurm.path };
  const submitted = await project.stint(
    ["submit", "--quiet", "--scheduler", "slurm", "--timing-poll", "0.2s", "--name", "sim", "--", "true"],
    { env },
  );
  expect(submitted.status, submitted.stderr).toBe(0);
  const callsOfWait = async (more: Readonly<Record<string, string>>): Promise<number> => {
    const before = slurm.calls("squeue");
    expect((await project.stint(["wait", "sim", "--timeout", "3s"], { env: { ...env, ...more } })).status).toBe(75);
    return slurm.calls("squeue") - before;
  };
  expect(await callsOfWait({})).toBeGreaterThanOrEqual(3);
  expect(await callsOfWait({ STINT_SITE: siteFile(project, "poll-floor: 60s\n") })).toBe(1);
  rmSync(join(project.folder, ".stint"), { recursive: true });
});
