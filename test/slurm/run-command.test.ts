import { expect, it } from "vitest";
import { runCommand } from "../../src/schedulers/slurm/index.ts";

const PATH = process.env.PATH ?? "/bin";
const at = (timeoutMs = 20_000) => ({ env: { PATH, A: "a\nb" }, cwd: "/", timeoutMs });

it("gives output and exit status, and exactly the environment it is given", async () => {
  expect(await runCommand("sh", ["-c", "env; echo no >&2; exit 3"], at())).toMatchObject({
    kind: "ended",
    exitCode: 3,
    stdout: expect.stringMatching(/^A=a\nb$/m),
    stderr: "no",
  });
  const ran = await runCommand("env", [], { ...at(), env: { PATH } });
  expect(ran).toMatchObject({ kind: "ended", exitCode: 0 });
  expect(ran.kind === "ended" ? ran.stdout.split("\n") : []).toEqual([`PATH=${PATH}`]);
});

it("passes arguments without a shell", async () => {
  const words = ["$HOME", "a b", "'", "*", "new\nline", ""];
  const ran = await runCommand("printf", ["%s|", ...words], at());
  expect(ran).toMatchObject({ exitCode: 0, stdout: `${words.join("|")}|` });
});

it("gives up after the time, and ends the program", async () => {
  const before = performance.now();
  expect(await runCommand("sh", ["-c", "trap '' TERM; sleep 30"], at(200))).toEqual({ kind: "timed-out" });
  expect(performance.now() - before).toBeLessThan(10_000);
});

it("tells a program that is not there from one that was ended", async () => {
  expect(await runCommand("no-such-program", [], at())).toMatchObject({
    kind: "not-started",
    error: expect.stringContaining("ENOENT"),
  });
  expect(await runCommand("sh", ["-c", "kill -9 $$"], at())).toEqual({ kind: "killed", signal: "SIGKILL" });
});
