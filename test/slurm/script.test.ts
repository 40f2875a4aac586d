/** The batch script, run by a real bash with programs in the places of node and runner. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { parseRuntimeFailed, RUNTIME_FAILED, scriptText, submitterScriptText } from "../../src/slurm/index.ts";

const root = mkdtempSync(join(tmpdir(), "stint-script-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let count = 0;

interface Attempt {
  readonly folder: string;
  readonly child: ChildProcess;
  /** What the script said, and its exit status. */
  readonly end: Promise<{ readonly status: number | null; readonly output: string }>;
  /** Lines that the runner wrote. */
  lines(): readonly string[];
}

/** Starts a script whose runner is a real node program: `body` and `guardian` are the texts of what it does. */
function start(
  body: string,
  options: { readonly name?: string; readonly node?: string; readonly guardian?: string } = {},
): Attempt {
  const folder = join(root, options.name ?? `attempt-${count + 1}`);
  mkdirSync(folder);
  // Beside the folder: node loads no module from a path with a backslash.
  const runner = join(root, `runner ${++count}.mjs`);
  writeFileSync(
    runner,
    `import fs from "node:fs";
const [what, folder] = process.argv.slice(2);
const say = (text) => fs.appendFileSync(folder + "/lines", text + "\\n");
const record = (name, value) => fs.writeFileSync(folder + "/" + name + ".json", JSON.stringify(value, null, 2));
say(what);
if (what === "body") { ${body} } else { ${options.guardian ?? ""} }
`,
  );
  const script = join(folder, "script.sh");
  writeFileSync(
    script,
    scriptText({
      node: options.node ?? process.execPath,
      runner,
      attemptFolder: folder,
      nodeFlags: ["--max-old-space-size=64"],
    }),
  );
  const child = spawn("/bin/bash", [script], {
    env: { PATH: process.env.PATH ?? "", SLURMD_NODENAME: "n1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout?.on("data", (data) => {
    output += data;
  });
  child.stderr?.on("data", (data) => {
    output += data;
  });
  const end = new Promise<{ status: number | null; output: string }>((resolve) =>
    child.on("close", (status) => resolve({ status, output })),
  );
  const lines = () =>
    existsSync(join(folder, "lines")) ? readFileSync(join(folder, "lines"), "utf8").split("\n").slice(0, -1) : [];
  return { folder, child, end, lines };
}

async function until(what: string, look: () => boolean): Promise<void> {
  for (const endAt = performance.now() + 20_000; !look(); await sleep(20))
    if (performance.now() > endAt) throw new Error(`waited in vain: ${what}`);
}

const STARTED = 'record("started", {}); record("go", { what: "start" });';

describe("the batch script", () => {
  it.each([0, 3, 99])("leaves with the runner's exit status %i", async (status) => {
    const { end, lines } = start(`${STARTED} record("exited", {}); process.exit(${status});`);
    expect((await end).status).toBe(status);
    expect(lines()).toEqual(["body"]);
  });

  it.each(["a b", "it's", 'q"uo$te`x`\\', "new\nline", "cr\r\nlf'\\n", "%j;&|*?[x]", "-dash", "ünï"])(
    "takes any path as it stands: %j",
    async (name) => {
      const { end, folder, lines } = start(`say(folder); ${STARTED} record("exited", {});`, { name });
      expect((await end).status).toBe(0);
      expect(lines().join("\n")).toBe(`body\n${folder}`);
      // sbatch reads #SBATCH at the beginning of a line and refuses DOS line ends.
      expect(readFileSync(join(folder, "script.sh"), "utf8")).not.toContain("\r");
    },
  );

  it.each(["TERM", "INT", "USR1", "USR2"] as const)(
    "passes SIG%s on and waits for the runner's own end",
    async (signal) => {
      const attempt = start(
        `process.on("SIG${signal}", () => { say("got ${signal}"); setTimeout(() => process.exit(5), 300); });
       ${STARTED} record("exited", {}); setInterval(() => {}, 1000); say("ready");`,
      );
      await until("the runner is ready", () => attempt.lines().includes("ready"));
      attempt.child.kill(`SIG${signal}`);
      expect((await attempt.end).status).toBe(5);
      expect(attempt.lines()).toEqual(["body", "ready", `got ${signal}`]);
    },
  );

  it("has the guardian testify when the runner was killed with an application begun, and survives signals meanwhile", async () => {
    const attempt = start(`${STARTED} say("pid " + process.pid); setInterval(() => {}, 1000);`, {
      guardian: `process.on("SIGTERM", () => say("guardian got TERM")); say("ready"); setTimeout(() => { record("exited", {}); }, 500);`,
    });
    await until("the runner has begun", () => attempt.lines().some((line) => line.startsWith("pid ")));
    process.kill(
      Number(
        attempt
          .lines()
          .find((line) => line.startsWith("pid "))
          ?.slice(4),
      ),
      "SIGKILL",
    );
    await until("the guardian is there", () => attempt.lines().includes("ready"));
    attempt.child.kill("SIGTERM");
    expect((await attempt.end).status).toBe(137);
    expect(attempt.lines().filter((line) => !line.startsWith("pid "))).toEqual([
      "body",
      "guardian",
      "ready",
      "guardian got TERM",
    ]);
    expect(existsSync(join(attempt.folder, "exited.json"))).toBe(true);
  });

  it("does not call the guardian for a testimony that is there, for a withdrawn attempt, or for a twin that left", async () => {
    const bodies = [
      `${STARTED} record("exited", {}); process.kill(process.pid, "SIGKILL");`,
      `record("started", {}); record("go", { what: "withdrawn", note: "no start" }); process.kill(process.pid, "SIGKILL");`,
      `${STARTED} process.exit(0);`,
    ];
    for (const body of bodies) {
      const attempt = start(body);
      await attempt.end;
      expect(attempt.lines()).toEqual(["body"]);
    }
  });

  it("says so and leaves with 0 when node is missing or dies before the attempt has begun", async () => {
    const missing = start("", { node: "/no/such/node" });
    const { status, output } = await missing.end;
    expect(status).toBe(0);
    expect(output).toContain("stint: the runner could not be started on n1 (exit status 127): /no/such/node");
    expect(parseRuntimeFailed(readFileSync(join(missing.folder, RUNTIME_FAILED), "utf8"))).toEqual({
      node: "n1",
      why: "the runner could not be started on n1 (exit status 127): /no/such/node",
    });

    const dying = start('process.kill(process.pid, "SIGTRAP");');
    expect(await dying.end).toMatchObject({ status: 0, output: expect.stringContaining("(exit status 133)") });
  });

  it("does not blame the runtime when the scheduler ended the runner before it began", async () => {
    const attempt = start("setInterval(() => {}, 1000);");
    await until("the runner runs", () => attempt.lines().includes("body"));
    attempt.child.kill("SIGTERM");
    expect((await attempt.end).status).toBe(143);
    expect(existsSync(join(attempt.folder, RUNTIME_FAILED))).toBe(false);
  });
});

describe("the batch script of a submitter", () => {
  const write = (name: string, node: string): string => {
    const folder = join(root, name);
    mkdirSync(folder);
    const runner = join(root, `submitter ${++count}.mjs`);
    writeFileSync(runner, "console.log(JSON.stringify([process.pid, ...process.argv.slice(2)]));\n");
    const script = join(folder, "script.sh");
    writeFileSync(script, submitterScriptText({ node, runner, folder, nodeFlags: ["--max-old-space-size=64"] }));
    return script;
  };
  const run = (script: string) =>
    spawnSync("/bin/bash", [script], {
      env: { PATH: process.env.PATH ?? "", SLURMD_NODENAME: "n1" },
      encoding: "utf8",
    });

  it.each(["s ' 1", "s $x %j"])("becomes the runner itself, so that signals reach it, with the folder %j", (name) => {
    const script = write(name, process.execPath);
    const { pid, status, stdout } = run(script);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual([pid, "submitter", join(root, name)]);
  });

  it("says where node is missing", () => {
    const { status, stderr } = run(write("s3", "/nowhere/node"));
    expect(status).toBe(127);
    expect(stderr).toContain("the submitter could not be started on n1");
  });
});
