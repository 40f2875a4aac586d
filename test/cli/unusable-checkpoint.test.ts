/** A checkpoint that is torn, empty or gone between two attempts: nobody starts on it unasked. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { attemptsOnFile, newProject, readRecord, type TestProject, until } from "./stint.ts";

/** Begins at 0 where it can read nothing, as many programs do. */
const TRUSTING = `
  n=$(cat s.txt 2>/dev/null); trap 'exit 99' TERM
  echo "begins at \${n:-0}" >>begins; n=\${n:-0}
  sleep 0.1; for i in 1 2 3; do n=$((n + 1)); echo "$n" >s.txt.tmp; mv s.txt.tmp s.txt; done
  while [ ! -e go-on ]; do sleep 0.05; done; exit 99`;
const JOB = [
  "--scheduler",
  "local",
  "--sample-interval",
  "0.2s",
  "--name",
  "sim",
  "--checkpoint",
  "s.txt",
  "--total",
  "100",
];

const read = (project: TestProject, name: string): string => readFileSync(join(project.folder, name), "utf8");

async function stopped(kind: "drain" | "cancel"): Promise<{ readonly project: TestProject; readonly file: string }> {
  const project = newProject();
  const file = join(project.folder, "s.txt");
  expect((await project.stint(["submit", ...JOB, "--", "bash", "-c", TRUSTING])).status).toBe(0);
  await until(() => readRecord(project, "sim", "0001", "go.json") !== null && readable(file) === "3\n", "three steps");
  expect((await project.stint([kind, "sim", ...(kind === "drain" ? ["--wait"] : [])])).status).toBe(0);
  return { project, file };
}

function readable(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

for (const kind of ["drain", "cancel"] as const)
  test(`empty after a ${kind}: a plain resume starts nothing and says what can be done, mended it goes on`, async () => {
    const { project, file } = await stopped(kind);
    writeFileSync(file, "");
    const refused = await project.stint(["resume", "sim"]);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toBe(
      "stint: the checkpoint s.txt cannot be used: the file is empty; mend it, set it aside with: stint resume sim --quarantine, or start on it as it is with: stint resume sim --as-it-is\n",
    );
    expect(read(project, "s.txt")).toBe("");
    expect(attemptsOnFile(project, "sim").at(-1)).toBe("0001");
    expect((await project.json(["status", "sim"])).job).toMatchObject({ state: "over" });
    writeFileSync(file, "2\n");
    expect((await project.stint(["resume", "sim", "--quiet"])).status).toBe(0);
    await until(() => read(project, "begins").split("\n")[1] === "begins at 2", "the next attempt");
  });

test("gone although progress was made: refused, and begun anew only by a person's word, which is on file", async () => {
  const { project, file } = await stopped("drain");
  rmSync(file);
  const refused = await project.stint(["resume", "sim"]);
  expect(refused).toMatchObject({
    status: 2,
    stderr:
      "stint: the checkpoint s.txt is gone, yet progress had reached 3: put it back, or begin anew with: stint resume sim --as-it-is\n",
  });
  expect(read(project, "begins")).toBe("begins at 0\n");
  expect((await project.stint(["resume", "sim", "--as-it-is", "--quiet"])).status).toBe(0);
  await until(() => read(project, "begins") === "begins at 0\nbegins at 0\n", "the next attempt");
  const word = JSON.parse(readFileSync(join(project.jobFolder("sim"), "stops/0002.json"), "utf8")) as unknown;
  expect(word).toMatchObject({ kind: "resume", asItIs: true, by: expect.stringMatching(/.@./) });
  const running = await project.stint(["resume", "sim", "--as-it-is"]);
  expect(running).toMatchObject({ status: 5, stderr: expect.stringContaining("sim runs") });
});

test("a person's word outlives an attempt that was claimed after it and taken back before it ran", async () => {
  const { project, file } = await stopped("drain");
  writeFileSync(file, "");
  const folder = project.jobFolder("sim");
  const edit = (from: string, to: string, changes: Record<string, unknown>): void =>
    writeFileSync(to, JSON.stringify({ ...(JSON.parse(readFileSync(from, "utf8")) as object), ...changes }));
  edit(join(folder, "stops/0001.json"), join(folder, "stops/0002.json"), { kind: "resume", asItIs: true, nonce: "r" });
  const [first, second] = ["0001", "0002"].map((name) => join(folder, "tasks/0/attempts", name));
  mkdirSync(second ?? "");
  edit(`${first}/claim.json`, `${second}/claim.json`, { basis: "resume", after: 1, nonce: "c" });
  const nobody = { what: "withdrawn", reason: "not-needed", nonce: "g" };
  edit(`${first}/go.json`, `${second}/go.json`, nobody);
  const taken = { verdict: "never-ran", decision: { kind: "continue" }, stopNumber: 2, nonce: "s" };
  edit(`${first}/settled.json`, `${second}/settled.json`, taken);
  // Whoever moves the chain next claims one more, and not because of a resume.
  const waits = project.start(["wait", "sim"]);
  await until(() => read(project, "begins").split("\n").length > 2, "the next attempt");
  expect(readRecord(project, "sim", "0003", "claim.json")).toMatchObject({ basis: "after" });
  expect((await project.stint(["cancel", "sim"])).status).toBe(0);
  await waits.ended;
});

/** Tears its checkpoint once, in its second attempt. */
const TEARS = `
  case $STINT_ATTEMPT in 1) echo 3 >s.txt; exit 99 ;; 2) : >s.txt; exit 99 ;; esac
  echo "$MAX_ITER" >s.txt`;

test("held for it: refused while it is torn, and mended by now it goes on by a plain resume", async () => {
  const project = newProject();
  const held = await project.stint(["run", ...JOB, "--", "bash", "-c", TEARS]);
  expect(held.status).toBe(1);
  expect(held.stdout).toContain(
    "next: mend it or put it back, then: stint resume sim; to set it aside: stint resume sim --quarantine; to start on it as it is: stint resume sim --as-it-is; for another rule of reading it: stint resume sim --progress RULE",
  );
  expect((await project.stint(["resume", "sim"])).status).toBe(2);
  expect((await project.json(["status", "sim"])).job?.state).toBe("held");
  writeFileSync(join(project.folder, "s.txt"), "4\n");
  expect((await project.stint(["resume", "sim", "--quiet"])).status).toBe(0);
  expect((await project.stint(["wait", "sim"])).stdout).toContain("finished");
});

test("resume --all names a stranded job whose checkpoint is torn, leaves it, and has no word for all", async () => {
  const project = newProject();
  const file = join(project.folder, "s.txt");
  await project.stint(["submit", ...JOB, "--", "bash", "-c", TRUSTING]);
  await until(() => readable(file) === "3\n", "three steps");
  interface Pids {
    readonly body: { readonly pid: number };
    readonly guardian: { readonly pid: number } | null;
  }
  const pids = await until(() => readRecord<Pids>(project, "sim", "0001", "started.json"), "the body");
  for (const pid of [pids.guardian?.pid, pids.body.pid]) if (pid !== undefined) process.kill(pid, "SIGKILL");
  writeFileSync(file, "3 and a half");
  const all = await project.stint(["resume", "--all"]);
  expect(all.status).toBe(2);
  expect(all.stdout).toMatch(/^sim: the checkpoint s\.txt cannot be used: "3 and a half" is not one number/);
  expect(attemptsOnFile(project, "sim")).toEqual(["0001"]);
  expect((await project.json(["status", "sim"])).job?.state).toBe("stranded");
  expect((await project.stint(["resume", "--all", "--as-it-is"])).status).toBe(2);
});
