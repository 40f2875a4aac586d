import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { newProject, readRecord, type TestProject, until } from "./stint.ts";

/** Saves a bad checkpoint at its third step, once, and crashes on it whenever it begins. */
const CRASHES = `
seen=$(cat "$CKPT_PATH" 2>/dev/null)
case $seen in *bad) exit 3 ;; esac
n=\${seen#step }
for i in $(seq $((\${n:-0} + 1)) 5); do
  if [ "$i" = 3 ] && [ ! -e once ]; then : >once; echo "step 3 bad" >"$CKPT_PATH"; exit 99; fi
  echo "step $i" >"$CKPT_PATH"
done`;
/** Without a limit no successor is made ready near the end of a window, and each attempt has the number that is expected. */
const UNLIMITED = ["--scheduler", "local", "--backoff-first", "0.1s", "--backoff-max", "1s"];
const SINGLE = [...UNLIMITED, "--checkpoint", "s.txt", "--progress", "pattern:step (\\d+)", "--total", "5"];

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
    .filter((file) => /^\d+\.json$/.test(file))
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
    `moved ${from} (progress 3) to ${to}; to undo it, when nothing of sim runs any more (stint drain sim --wait): mv -nT ${from} ${to}.newer; mv -nT ${to} ${from}\nsim: goes on\n`,
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
  const options = [...UNLIMITED, "--checkpoint", "out", "--progress", "files:c-*", "--name", "gen"];
  expect((await project.stint(["run", ...options, "--", "bash", "-c", program])).status).toBe(1);
  const resumed = await project.json(["resume", "gen", "--quarantine"]);
  expect(resumed).toMatchObject({ result: "resumed", quarantine: { progress: { kind: "value" } } });
  expect((await project.stint(["wait", "gen"])).status).toBe(0);
  expect(readdirSync(join(project.folder, "out")).filter((name) => name.startsWith("c-"))).toEqual(["c-9"]);
  expect((await project.stint(["logs", "gen", "--attempt", "5"])).stdout).toContain("begins with out/c-9");
});

test("who died before the move left the word on file: the next resume moves first, and says whose word it was", async () => {
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
  expect(resumed.stdout, resumed.stderr).toMatch(
    /^moved .*s\.txt .* to .*0004-s\.txt, as ann@here asked for before; to undo it/,
  );
  expect((await project.stint(["wait", "sim"])).status).toBe(0);
  expect(readdirSync(join(project.folder, ".s.txt.stint-quarantine"))).toEqual(["0004-s.txt"]);
  expect(stopsOf(project, "sim").map(({ kind }) => kind)).toEqual(["drain", "resume"]);
});

test("what it prints to undo it loses nothing of what was saved since", async () => {
  const project = newProject();
  const program = `
    case $(cat s.txt 2>/dev/null) in *bad) exit 76 ;; esac
    [ -e once ] || { : >once; echo "step 3 bad" >s.txt; exit 76; }
    trap 'exit 99' TERM; echo "step 4 new" >s.txt; while :; do sleep 0.1; done`;
  const options = [
    "--scheduler",
    "local",
    "--checkpoint",
    "s.txt",
    "--progress",
    "pattern:step (\\d+)",
    "--name",
    "sim",
  ];
  expect((await project.stint(["run", ...options, "--", "bash", "-c", program])).status).toBe(1);
  const { stdout } = await project.stint(["resume", "sim", "--quarantine", "--quiet"]);
  const undo = /\(stint drain sim --wait\): (mv .*)/.exec(stdout)?.[1] ?? "exit 1";
  const read = (name: string): string | null =>
    existsSync(join(project.folder, name)) ? readFileSync(join(project.folder, name), "utf8") : null;
  await until(() => read("s.txt") === "step 4 new\n", "what is saved since");
  expect((await project.stint(["drain", "sim", "--wait"])).status).toBe(0);
  for (const times of ["once", "twice"]) {
    spawnSync("bash", ["-c", undo], { cwd: project.folder });
    expect(read("s.txt"), times).toBe("step 3 bad\n");
    expect(read(".s.txt.stint-quarantine/0001-s.txt.newer"), times).toBe("step 4 new\n");
  }
});

/** Two generations, the newest of which is bad and is written anew whenever the work falls back to the one before. */
const FALLS_BACK = `
  newest=$(ls out/c-* 2>/dev/null | sort -V | tail -1)
  echo "begins with \${newest:-nothing}"
  [ -n "$newest" ] || { echo good >out/c-9; touch -d '2020-01-01' out/c-9; }
  grep -qs bad "$newest" || echo bad >out/c-10
  exit 76`;

async function fallsBack(): Promise<TestProject> {
  const project = newProject();
  mkdirSync(join(project.folder, "out"));
  const options = ["--scheduler", "local", "--checkpoint", "out", "--progress", "files:c-*", "--name", "gen"];
  expect((await project.stint(["run", ...options, "--", "bash", "-c", FALLS_BACK])).status).toBe(1);
  return project;
}

test("a second word moves nothing more, and says that it was moved before", async () => {
  const project = await fallsBack();
  const { quarantine } = (await project.json(["resume", "gen", "--quarantine", "--dry-run"])) as {
    quarantine?: NonNullable<StopOnFile["quarantine"]> & { readonly state: string };
  };
  expect(quarantine?.state).toBe("asked");
  const { from = "", to = "" } = quarantine?.moves[0] ?? {};
  // As whoever typed the first one and died right behind its resume has left it.
  const stops = join(project.jobFolder("gen"), "stops");
  mkdirSync(stops);
  for (const [index, kind] of ["drain", "resume"].entries()) {
    const word = { version: 1, nonce: kind, atMs: 1, kind, by: "ann@here", quarantine };
    writeFileSync(join(stops, `000${index + 1}.json`), `${JSON.stringify(word)}\n`);
  }
  mkdirSync(dirname(to));
  renameSync(from, to);
  const look = await project.stint(["resume", "gen", "--quarantine", "--dry-run"]);
  expect(look).toMatchObject({
    status: 0,
    stdout: expect.stringContaining(` was moved to ${to} before: nothing more is`),
  });
  const resumed = await project.stint(["resume", "gen", "--quarantine", "--quiet"]);
  expect(resumed.stdout, resumed.stderr).toMatch(
    /^\S+c-10 .* was moved to \S+ before: nothing more is moved\ngen: goes on\n$/,
  );
  await project.stint(["wait", "gen"]);
  expect((await project.stint(["logs", "gen", "--attempt", "2"])).stdout).toContain("begins with out/c-9");
  expect(readdirSync(dirname(to))).toEqual(["0001-c-10"]);
});

/** Ends the process in front of the n-th step that touches the quarantine or the stops. */
const KILLS = `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
let left = Number(process.env.KILL_AT);
for (const [owner, name] of [[fs, "linkSync"], [fs, "unlinkSync"], [fs.promises, "link"], [fs.promises, "rename"], [fs.promises, "unlink"]]) {
  const real = owner[name];
  owner[name] = (...args) => {
    if (args.some((arg) => /stint-quarantine|[/]stops[/]/.test(String(arg))) && --left === 0) process.kill(process.pid, "SIGKILL");
    return real(...args);
  };
}
syncBuiltinESMExports();`;

test("killed at any step, and typed again with the option or without, it is done once or not at all", async () => {
  const project = await fallsBack();
  const inside = join(project.folder, "out", ".files.stint-quarantine");
  const asideNow = (): readonly string[] => (existsSync(inside) ? readdirSync(inside).sort() : []);
  const wordsNow = (): number =>
    existsSync(join(project.jobFolder("gen"), "stops"))
      ? stopsOf(project, "gen").filter(({ kind, quarantine }) => kind === "drain" && quarantine !== undefined).length
      : 0;
  writeFileSync(join(project.folder, "kills.mjs"), KILLS);
  const preload = `--import=${pathToFileURL(join(project.folder, "kills.mjs"))}`;
  let kills = 0;
  for (let step = 1, killed = true; killed; step++) {
    // Both after each step with --full, else in turns: where it died decides, and how it is typed again matters little.
    const ways = [["--quarantine"], []].filter((_, at) => process.env.STINT_FULL !== undefined || step % 2 === at);
    for (const again of ways) {
      const before = { aside: asideNow(), words: wordsNow() };
      const first = await project.stint(["resume", "gen", "--quarantine", "--quiet"], {
        env: { NODE_OPTIONS: preload, KILL_AT: String(step) },
      });
      killed = first.status === null;
      let what = `step ${step}: ${first.stdout}${first.stderr}`;
      const hasWord = wordsNow() > before.words;
      if (killed) {
        kills++;
        const second = await project.stint(["resume", "gen", ...again, "--quiet"]);
        what = `killed at step ${step}, then ${again}: ${second.stdout}${second.stderr}`;
        expect(second.status, what).toBe(0);
        if (again.length > 0)
          expect(second.stdout, what).toMatch(/^moved \S+c-10 .* to |c-10 .* was moved to .* before/);
      } else expect(first.status, what).toBe(0);
      expect((await project.stint(["wait", "gen"])).status, what).toBe(1);
      // The bad one is set aside once, by its lasting name, and the one before it never is.
      const isAside = hasWord || again.length > 0;
      const more = asideNow().filter((name) => !before.aside.includes(name));
      expect(more, what).toEqual(isAside ? [expect.stringMatching(/^\d{4}-c-10$/)] : []);
      expect(readFileSync(join(project.folder, "out", "c-9"), "utf8"), what).toBe("good\n");
      for (const name of more) expect(readFileSync(join(inside, name), "utf8"), what).toBe("bad\n");
      const log = (await project.stint(["logs", "gen"])).stdout.trimEnd().split("\n").at(-1);
      expect(log, what).toBe(`begins with out/${isAside ? "c-9" : "c-10"}`);
    }
  }
  // Six steps and more: the word, the taking, its lasting name, the resume, each with what is cleaned up behind it.
  expect(kills).toBeGreaterThanOrEqual(process.env.STINT_FULL === undefined ? 6 : 12);
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
