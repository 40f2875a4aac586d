import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { afterwards, bundleHost, temporaryFolder } from "./real-processes.ts";

async function endOf(body: string): Promise<{ code: number | null; signal: string | null; tookMs: number }> {
  const script = `import { endSelf, pooledFolder } from ${JSON.stringify(await bundleHost())};
    const poolIsBusy = () => process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq"));
    import { open } from "node:fs/promises";
    ${body}`;
  const beganAtMs = Date.now();
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "inherit" });
  afterwards(() => void child.kill("SIGKILL"));
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal, tookMs: Date.now() - beganAtMs }));
  });
}

it("ends with its code when nothing is outstanding", async () => {
  expect(await endOf(`if (poolIsBusy()) throw new Error("busy"); await endSelf(7);`)).toMatchObject({
    code: 7,
    signal: null,
  });
});

it("waits for what is outstanding and not stuck", async () => {
  const folder = temporaryFolder();
  const end = await endOf(
    `pooledFolder().createOnce(${JSON.stringify(join(folder, "record"))}, "x".repeat(1e6)); await endSelf(5);`,
  );
  expect(end).toMatchObject({ code: 5, signal: null });
});

it("ends by SIGKILL when a thread is stuck in a file system, where process.exit hangs", async () => {
  const pipe = join(temporaryFolder(), "pipe");
  // Opening a pipe that nobody writes to blocks its thread as a hung file system does.
  execFileSync("mkfifo", [pipe]);
  const stuck = `open(${JSON.stringify(pipe)}, "r").catch(() => {}); await new Promise((resolve) => setTimeout(resolve, 50));`;
  const end = await endOf(`${stuck} if (!poolIsBusy()) throw new Error("idle"); await endSelf(5, 300);`);
  expect(end).toMatchObject({ code: null, signal: "SIGKILL" });
  expect(end.tookMs).toBeLessThan(10_000);
});
