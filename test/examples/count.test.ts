import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));
const LANGUAGES = [
  { file: "count.sh", command: ["bash", "count.sh"], needs: "bash" },
  { file: "count.py", command: ["python3", "count.py"], needs: "python3" },
  { file: "count.R", command: ["bash", "term-to-int.sh", "Rscript", "count.R"], needs: "Rscript" },
];

describe.each(LANGUAGES)("examples/$file", ({ command, needs }) => {
  let folder: string;
  const running = new Set<ChildProcess>();

  beforeEach((context) => {
    if (!onPath(needs)) context.skip(`${needs} is not installed`);
    folder = mkdtempSync(join(tmpdir(), "stint-examples-"));
  });

  afterEach(async () => {
    for (const child of running) {
      const ended = once(child, "close");
      kill(child);
      await ended;
    }
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  /** With all that it has started. */
  const kill = (child: ChildProcess) => process.kill(-(child.pid as number), "SIGKILL");

  /** Starts the example as the leader of a process group of its own, as stint does. */
  function start(settings: Record<string, string>) {
    const [program = "", ...words] = command.map((word) => (word.includes(".") ? join(EXAMPLES, word) : word));
    const child = spawn(program, words, {
      cwd: folder,
      env: { PATH: process.env.PATH, STEP_SEC: "0.01", ...settings },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.add(child);
    let output = "";
    let grown = () => {};
    const take = (data: Buffer) => {
      output += data;
      grown();
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    const ended = once(child, "close").then(([code, signal]) => {
      running.delete(child);
      grown();
      return { code: code as number | null, signal: signal as string | null, output };
    });
    return {
      ended,
      /** Waits for the words themselves, and fails when the program ends without them. */
      async says(words: string): Promise<void> {
        while (!output.includes(words)) {
          if (!running.has(child)) throw new Error(`ended without saying "${words}":\n${output}`);
          await new Promise<void>((resolve) => {
            grown = resolve;
          });
        }
      },
      termGroup: () => process.kill(-(child.pid as number), "SIGTERM"),
      termAlone: () => child.kill("SIGTERM"),
    };
  }

  const saved = (name = "state_iter.txt") => readFileSync(join(folder, name), "utf8");
  const put = (text: string, name = "state_iter.txt") => writeFileSync(join(folder, name), text);

  test("counts to the end, saves and ends with 0", async () => {
    const { code, output } = await start({ MAX_ITER: "7" }).ended;
    expect(output).toContain("done at 7");
    expect(code).toBe(0);
    expect(saved()).toBe("7\n");
    expect(stepsOf(output)).toEqual(upTo(7));
  });

  test("saves and ends with 99 when it is told to stop", async () => {
    const count = start({ MAX_ITER: "100000", CHECKPOINT_EVERY: "100000" });
    await count.says("step 5");
    count.termGroup();
    const { code, output } = await count.ended;
    expect(code).toBe(99);
    expect(saved()).toBe(`${stepsOf(output).length}\n`);
    expect(readdirSync(folder)).toEqual(["state_iter.txt"]);
  });

  test("answers TERM in the middle of a long step, and that step does not count", async () => {
    put("3\n");
    const count = start({ MAX_ITER: "10", STEP_SEC: "600" });
    await count.says("goes on at 3");
    count.termAlone();
    // The pipe closes when the last process that holds it is gone, so nothing may be left sleeping.
    const { code, output } = await count.ended;
    expect(code).toBe(99);
    expect(stepsOf(output)).toEqual([]);
    expect(saved()).toBe("3\n");
  });

  test("does every step once and in order over several attempts that are told to stop", async () => {
    const steps: number[] = [];
    const codes: (number | null)[] = [];
    for (let attempt = 1; codes.at(-1) !== 0; attempt += 1) {
      const count = start({ MAX_ITER: "60", CHECKPOINT_EVERY: "7", STINT_ATTEMPT: String(attempt) });
      await count.says(`attempt ${attempt} of`);
      const until = steps.length + 13;
      if (until < 60) {
        await count.says(`step ${until}\n`);
        count.termGroup();
      }
      const { code, output } = await count.ended;
      codes.push(code);
      steps.push(...stepsOf(output));
      expect(codes.length).toBeLessThan(20);
    }
    expect(steps).toEqual(upTo(60));
    expect(codes.slice(0, -1).every((code) => code === 99)).toBe(true);
    expect(codes.length).toBeGreaterThanOrEqual(3);
  });

  test("goes on from the last periodic save after a brutal death", async () => {
    const count = start({ MAX_ITER: "100000", CHECKPOINT_EVERY: "5" });
    await count.says("step 12\n");
    for (const child of running) kill(child);
    const { signal, output } = await count.ended;
    expect(signal).toBe("SIGKILL");
    const left = Number(saved());
    expect(left % 5).toBe(0);
    expect(left).toBeGreaterThanOrEqual(10);
    expect(left).toBeLessThanOrEqual(stepsOf(output).length);
    const next = await start({ MAX_ITER: String(left + 3) }).ended;
    expect(stepsOf(next.output)).toEqual([left + 1, left + 2, left + 3]);
  });

  test("honours CKPT_PATH, MAX_ITER and CHECKPOINT_EVERY", async () => {
    put("4\n", "elsewhere.txt");
    const { code, output } = await start({ CKPT_PATH: "elsewhere.txt", MAX_ITER: "6", CHECKPOINT_EVERY: "1" }).ended;
    expect(code).toBe(0);
    expect(stepsOf(output)).toEqual([5, 6]);
    expect(saved("elsewhere.txt")).toBe("6\n");
    expect(existsSync(join(folder, "state_iter.txt"))).toBe(false);
  });

  test("shows what stint tells it", async () => {
    const told = { STINT_TASK_ID: "/me/sim/0", STINT_ATTEMPT: "4", STINT_DEADLINE: "1700000000" };
    const { output } = await start({ MAX_ITER: "1", ...told }).ended;
    expect(output).toContain("attempt 4 of /me/sim/0 goes on at 0 of 1");
    expect(output).toContain("1700000000");
  });

  test("does nothing when the total is already reached", async () => {
    put("9\n");
    const { code, output } = await start({ MAX_ITER: "9" }).ended;
    expect(code).toBe(0);
    expect(stepsOf(output)).toEqual([]);
    expect(saved()).toBe("9\n");
  });

  test("reads a padded checkpoint as a decimal number", async () => {
    put("0000098\n");
    const { output } = await start({ MAX_ITER: "100" }).ended;
    expect(stepsOf(output)).toEqual([99, 100]);
  });

  test.each(["", "iter=12 of 500\n", "-3\n"])("refuses the checkpoint %j instead of starting over", async (text) => {
    put(text);
    const { code, output } = await start({ MAX_ITER: "5" }).ended;
    expect(code).toBe(1);
    expect(output).toContain("mend it or remove it");
    expect(saved()).toBe(text);
  });

  test("does not say 99 when it could not save", async () => {
    const count = start({ CKPT_PATH: "missing/state.txt", MAX_ITER: "100000", CHECKPOINT_EVERY: "100000" });
    await count.says("step 2\n");
    count.termGroup();
    const { code } = await count.ended;
    expect(code).toBe(1);
  });
});

function stepsOf(output: string): number[] {
  return [...output.matchAll(/^step (\d+)$/gm)].map((match) => Number(match[1]));
}

function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

function onPath(program: string): boolean {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));
}
