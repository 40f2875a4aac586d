import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newProject, QUICK, readRecord, type TestProject, until } from "./stint.ts";

/** Saves a bad checkpoint at its third step, once, and crashes on it whenever it begins. */
const CRASHES = `
seen=$(cat "$CKPT_PATH" 2>/dev/null)
case $seen in *bad) exit 3 ;; esac
n=\${seen#step }
for i in $(seq $((\${n:-0} + 1)) 5); do
  if [ "$i" = 3 ] && [ ! -e once ]; then : >once; echo "step 3 bad" >"$CKPT_PATH"; exit 99; fi
  echo "step $i" >"$CKPT_PATH"
done`;
const SINGLE = [...QUICK, "--checkpoint", "s.txt", "--progress", "pattern:step (\\d+)", "--total", "5"];

interface StopOnFile {
  readonly kind: string;
  readonly by: string;
  readonly atMs: number;
  readonly quarantine?: { readonly afterAttempt: number; readonly progress: unknown; readonly moves: readonly Move[] };
}
interface Move {
  readonly from: string;
  readonly to: string;
}

function stopsOf(project: TestProject, name: string): readonly StopOnFile[] {
  const folder = join(project.jobFolder(name), "stops");
  return readdirSync(folder)
    .sort()
    .map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as StopOnFile);
}

test("a checkpoint that crashes every restart: held with the command that sets it aside, and then it finishes", async () => {
  const project = newProject();
  const held = await project.stint(["run", ...SINGLE, "--name", "sim", "--", "bash", "-c", CRASHES]);
  expect(held.status).toBe(1);
  expect(held.stdout).toContain("if the checkpoint itself is bad: stint resume sim --quarantine sets it aside");
  const from = join(project.folder, "s.txt");
  const to = join(project.folder, ".s.txt.stint-quarantine/0004-s.txt");
  const look = await project.stint(["resume", "sim", "--quarantine", "--dry-run"]);
  expect(look).toMatchObject({ status: 0, stdout: `would move ${from} (progress 3) to ${to}\n` });
  expect(existsSync(to)).toBe(false);
  expect((await project.json(["status", "sim"])).job?.state).toBe("held");
  const resumed = await project.stint(["resume", "sim", "--quarantine", "--quiet"]);
  expect(resumed.stdout, resumed.stderr).toBe(
    `moved ${from} (progress 3) to ${to}; to undo it: stint drain sim --wait, then: mv ${to} ${from}\nsim: goes on\n`,
  );
  const end = await project.stint(["wait", "sim"]);
  expect(end.stdout).toContain("progress 5/5");
  expect(end.status).toBe(0);
  expect(readFileSync(to, "utf8")).toBe("step 3 bad\n");
  expect(readRecord(project, "sim", "0005", "go.json")).toMatchObject({ progressBefore: { state: "absent" } });
  const quarantine = { afterAttempt: 4, progress: { kind: "value", value: 3 }, moves: [{ from, to }] };
  const by = expect.stringMatching(/.@./);
  expect(stopsOf(project, "sim")).toMatchObject([
    { kind: "drain", by, atMs: expect.any(Number), quarantine },
    { kind: "resume", by, quarantine },
  ]);
});

test("of several generations the newest goes, and the work goes on from the one before", async () => {
  const project = newProject();
  mkdirSync(join(project.folder, "out"));
  const program = `
    newest=$(ls out/c-* 2>/dev/null | sort -V | tail -1)
    echo "begins with \${newest:-nothing}"
    if [ -z "$newest" ]; then echo good >out/c-9; touch -d '2020-01-01' out/c-9; echo bad >out/c-10; exit 99; fi
    ! grep -q bad "$newest"`;
  const options = [...QUICK, "--checkpoint", "out", "--progress", "files:c-*", "--name", "gen"];
  expect((await project.stint(["run", ...options, "--", "bash", "-c", program])).status).toBe(1);
  const resumed = await project.json(["resume", "gen", "--quarantine"]);
  expect(resumed).toMatchObject({ result: "resumed", quarantine: { progress: { kind: "value" } } });
  expect((await project.stint(["wait", "gen"])).status).toBe(0);
  expect(readdirSync(join(project.folder, "out")).filter((name) => name.startsWith("c-"))).toEqual(["c-9"]);
  expect((await project.stint(["logs", "gen", "--attempt", "5"])).stdout).toContain("begins with out/c-9");
});

test("who died before the move left the word on file: the next resume moves first, and a second word moves nothing more", async () => {
  const project = newProject();
  expect((await project.stint(["run", ...SINGLE, "--name", "sim", "--", "bash", "-c", CRASHES])).status).toBe(1);
  const { quarantine } = (await project.json(["resume", "sim", "--quarantine", "--dry-run"])) as {
    quarantine?: StopOnFile["quarantine"];
  };
  const stops = join(project.jobFolder("sim"), "stops");
  mkdirSync(stops);
  const word = { version: 1, nonce: "n", atMs: 1, kind: "drain", by: "ann@here", quarantine };
  writeFileSync(join(stops, "0001.json"), `${JSON.stringify(word)}\n`);
  expect((await project.json(["status", "sim"])).job?.state).toBe("held");
  const resumed = await project.stint(["resume", "sim", "--quiet"]);
  expect(resumed.stdout, resumed.stderr).toMatch(/^moved .*s\.txt .* to .*0004-s\.txt; to undo it/);
  expect((await project.stint(["wait", "sim"])).status).toBe(0);
  expect(readdirSync(join(project.folder, ".s.txt.stint-quarantine"))).toEqual(["0004-s.txt"]);
  expect(stopsOf(project, "sim").map(({ kind }) => kind)).toEqual(["drain", "resume"]);
});

test("it is refused where it could do harm or has nothing to do, in one line", async () => {
  const project = newProject();
  // Without a limit: with QUICK's it would be held for its stalls before the last of these commands on a busy machine.
  const settings = ["--scheduler", "local", "--name", "lives", "--checkpoint", "s.txt"];
  await project.stint(["submit", ...settings, "--", "sleep", "30"]);
  await until(() => readRecord(project, "lives", "0001", "go.json"), "go");
  const cases: readonly (readonly [readonly string[], number, string])[] = [
    [["resume", "lives", "--quarantine"], 5, "lives is not at rest"],
    [["resume", "lives", "--dry-run"], 2, "give both"],
    [["resume", "--all", "--quarantine"], 2, "name it instead of --all"],
  ];
  for (const [args, exitStatus, text] of cases) {
    const { status, stderr } = await project.stint(args);
    expect(status, stderr).toBe(exitStatus);
    expect(stderr).toContain(text);
  }
  expect((await project.stint(["cancel", "lives"])).status).toBe(0);
  const nothing = await project.stint(["resume", "lives", "--quarantine"]);
  expect(nothing.status).toBe(2);
  expect(nothing.stderr).toMatch(/^stint: there is no checkpoint at .*s\.txt: nothing has to be set aside\n$/);
  const stops = stopsOf(project, "lives").map(({ kind }) => kind);
  expect(stops).toEqual(["cancel"]);
});
