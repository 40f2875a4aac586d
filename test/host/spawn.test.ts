import { execFileSync } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  aliveHere,
  readStat,
  realClock,
  type SpawnOptions,
  signalMembers,
  spawnApplication,
  spawnDetached,
  subreaperPrefix,
} from "../../src/host/index.ts";
import { afterwards, asNobody, bundleHost, eventually, own, temporaryFolder } from "./real-processes.ts";

const nothing = { stdin: null, stdout: null, stderr: null };

function options(cwd: string, more: Partial<SpawnOptions> = {}): SpawnOptions {
  return { cwd, env: { PATH: process.env.PATH }, ...nothing, ...more };
}

it("starts an application in a session of its own, with output straight to its file, and tells how it ended", async () => {
  const folder = temporaryFolder();
  const out = openSync(join(folder, "out"), "a");
  const begun = await spawnApplication(
    ["bash", "-c", 'echo "$A|$HOME|$PWD"; ps -o sid= -p $$ | tr -d " "; exit 3'],
    options(folder, { env: { PATH: process.env.PATH, A: "a\nb 'c' $d" }, stdout: out }),
  );
  closeSync(out);
  if (begun.kind === "failed") throw new Error(begun.failure.message);
  const exit = await begun.exit;
  expect(exit).toMatchObject({ code: 3, signal: null });
  expect(exit.atMonotonicMs).toBeGreaterThanOrEqual(begun.startedMonotonicMs);
  expect(exit.atMonotonicMs).toBeLessThanOrEqual(realClock.monotonicMs());
  expect(readFileSync(join(folder, "out"), "utf8")).toBe(`a\nb 'c' $d||${folder}\n${begun.ref.pid}\n`);
});

it("names the signal that ended an application", async () => {
  const begun = await spawnApplication(["sleep", "1000"], options("/"));
  if (begun.kind === "failed") throw new Error(begun.failure.message);
  expect(aliveHere(begun.ref)).toBe("alive");
  signalMembers([begun.ref], "SIGTERM");
  expect(await begun.exit).toMatchObject({ code: null, signal: "SIGTERM" });
});

it("catches an application that ends at once", async () => {
  const begun = await spawnApplication(["true"], options("/"));
  if (begun.kind === "failed") throw new Error(begun.failure.message);
  expect((await begun.exit).code).toBe(0);
  expect(aliveHere(begun.ref)).toBe("gone");
});

it("tells a missing program from a missing working folder, each in one line", async () => {
  const folder = temporaryFolder();
  const failure = async (argv: readonly string[], cwd: string) => {
    const begun = await spawnApplication(argv, options(cwd));
    if (begun.kind !== "failed") throw new Error("it started");
    expect(begun.failure.message).not.toContain("\n");
    return begun.failure;
  };
  writeFileSync(join(folder, "plain"), "text");
  writeFileSync(join(folder, "lost.sh"), "#!/no/such/shell\n");
  chmodSync(join(folder, "lost.sh"), 0o755);
  const missing = await failure(["no-such-program"], folder);
  expect(missing).toEqual({
    what: "program",
    code: "ENOENT",
    exitCode: 127,
    message: "no-such-program was not found on PATH (ENOENT)",
  });
  expect((await failure(["./none"], folder)).message).toBe("./none was not found (ENOENT)");
  expect(await failure(["true"], join(folder, "none"))).toEqual({
    what: "working-folder",
    code: "ENOENT",
    exitCode: 126,
    message: `the working folder ${folder}/none is not there (ENOENT)`,
  });
  expect((await failure(["true"], join(folder, "plain"))).message).toBe(
    `the working folder ${folder}/plain is not a folder (ENOTDIR)`,
  );
  expect(await failure(["./plain"], folder)).toMatchObject({ what: "program", code: "EACCES", exitCode: 126 });
  expect((await failure(["./lost.sh"], folder)).message).toContain(
    "names an interpreter in its first line that is not there",
  );
  expect(await failure(["true", "x".repeat(3_000_000)], folder)).toMatchObject({ what: "system", code: "E2BIG" });
  expect(await failure([], folder)).toMatchObject({ what: "program", code: "EINVAL" });
});

it("says that a working folder may not be entered (as an ordinary user)", async () => {
  const root = temporaryFolder();
  const locked = join(root, "locked");
  mkdirSync(locked);
  chmodSync(root, 0o755);
  chmodSync(locked, 0o000);
  const script = `
    import { spawnDetached } from ${JSON.stringify(await bundleHost())};
    const begun = await spawnDetached(["true"], { cwd: "${locked}", env: process.env, stdin: null, stdout: null, stderr: null });
    console.log(begun.failure.message);`;
  const [program = "", ...rest] = [...asNobody, process.execPath, "--input-type=module", "-e", script];
  const said = execFileSync(program, rest, { cwd: "/", encoding: "utf8" });
  expect(said).toBe(`the working folder ${locked} may not be entered: permission denied (EACCES)\n`);
});

it("says not found, not denied, when a folder of PATH may not be entered (as an ordinary user)", async () => {
  const root = temporaryFolder();
  const locked = join(root, "locked");
  mkdirSync(locked);
  chmodSync(root, 0o755);
  chmodSync(locked, 0o000);
  const script = `
    import { spawnDetached } from ${JSON.stringify(await bundleHost())};
    const env = { PATH: "${locked}:" + process.env.PATH };
    const begun = await spawnDetached(["no-such-program"], { cwd: "/", env, stdin: null, stdout: null, stderr: null });
    console.log(begun.failure.message, begun.failure.exitCode);`;
  const [program = "", ...rest] = [...asNobody, process.execPath, "--input-type=module", "-e", script];
  const said = execFileSync(program, rest, { cwd: "/", encoding: "utf8" });
  expect(said).toBe("no-such-program was not found on PATH (ENOENT) 127\n");
});

it("starts what outlives its starter, as a subreaper", async () => {
  const folder = temporaryFolder();
  const script = `
    import { spawnDetached, subreaperPrefix } from ${JSON.stringify(await bundleHost())};
    const argv = [...subreaperPrefix(), "bash", "-c", "(setsid sleep 1000 & echo $! > ${folder}/orphan); exec sleep 1000"];
    const begun = await spawnDetached(argv, { cwd: "/", env: process.env, stdin: null, stdout: null, stderr: null });
    console.log(JSON.stringify(begun));`;
  const begun = JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }));
  expect(begun.kind).toBe("started");
  afterwards(() => void signalMembers([begun.ref], "SIGKILL"));
  const orphan = await eventually("the orphan", () => {
    const text = readFileSync(join(folder, "orphan"), { encoding: "utf8", flag: "a+" });
    return text.endsWith("\n") ? Number(text) : null;
  });
  own(orphan);
  expect(aliveHere(begun.ref)).toBe("alive");
  expect(readStat(begun.ref.pid)?.session).toBe(begun.ref.pid);
  if (subreaperPrefix().length === 0) return console.log("skipped: no perl here, so orphans go to init");
  await eventually("the adoption", () => readStat(orphan)?.parent === begun.ref.pid);
});

it("passes arguments through the subreaper untouched", async () => {
  const folder = temporaryFolder();
  const out = openSync(join(folder, "out"), "a");
  const argv = [...subreaperPrefix(), "printf", "%s\n", "-e", "--", "a b", "$x `y` 'z'", "é\n"];
  const env = { PATH: process.env.PATH, LC_ALL: "xx_XX.UTF-8" };
  const begun = await spawnApplication(argv, options(folder, { env, stdout: out, stderr: out }));
  closeSync(out);
  if (begun.kind === "failed") throw new Error(begun.failure.message);
  expect((await begun.exit).code).toBe(0);
  expect(readFileSync(join(folder, "out"), "utf8")).toBe("-e\n--\na b\n$x `y` 'z'\né\n\n");
});

it("leaves the environment as it was behind the subreaper", async () => {
  const folder = temporaryFolder();
  const out = openSync(join(folder, "out"), "a");
  const env = { PATH: process.env.PATH, ODD: "a\nb=c" };
  const begun = await spawnApplication([...subreaperPrefix(), "env", "-0"], options(folder, { env, stdout: out }));
  closeSync(out);
  if (begun.kind === "failed") throw new Error(begun.failure.message);
  await begun.exit;
  const seen = readFileSync(join(folder, "out"), "utf8")
    .split("\0")
    .filter((entry) => entry !== "");
  expect(seen.sort()).toEqual([`ODD=${env.ODD}`, `PATH=${env.PATH}`]);
});

it("lets go of a detached program", async () => {
  const begun = await spawnDetached(["sleep", "1000"], options("/"));
  if (begun.kind === "failed") throw new Error(begun.failure.message);
  own(begun.ref.pid);
  expect(aliveHere(begun.ref)).toBe("alive");
});
