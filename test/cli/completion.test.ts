/** Completion as the shells themselves do it. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { settingFlags } from "../../src/spec/index.ts";
import { me, newProject, type TestProject } from "./stint.ts";

let project: TestProject;
let script = "";
/** Where the completion is asked for: below the project's folder. */
let deep = "";

async function prepare(shell: string): Promise<void> {
  const ran = await project.stint(["completion", shell]);
  expect(ran.status, ran.stderr).toBe(0);
  script = join(project.folder, `completion.${shell}`);
  writeFileSync(script, ran.stdout);
}

beforeEach(() => {
  project = newProject();
  deep = join(project.folder, "deep", "down");
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(deep, "my spec.yaml"), "");
  for (const job of [`${me}/sim`, `${me}/simple`, "other/theirs"]) {
    const folder = join(project.folder, ".stint", "jobs", job);
    mkdirSync(folder, { recursive: true });
    // Nothing more of a job is looked at.
    writeFileSync(join(folder, "home.json"), "{}");
  }
});

const isThere = (shell: string): boolean => spawnSync(shell, ["-c", "exit 0"]).status === 0;

function run(shell: string, args: readonly string[], text: string): string {
  // Nothing but the shell's own means: no Node, no Slurm.
  const env = { PATH: "/usr/bin:/bin", USER: me, HOME: project.folder, TERM: "dumb" };
  const { stdout, stderr, status } = spawnSync(shell, [...args, text], {
    cwd: deep,
    env,
    encoding: "utf8",
    timeout: 60_000,
  });
  expect(status, stderr).toBe(0);
  return stdout;
}

/** The words as bash cuts them before it calls a completion. */
function bash(...words: readonly string[]): readonly string[] {
  const quoted = ["stint", ...words].map((word) => `'${word}'`).join(" ");
  const text = `source '${script}'; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _stint; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return run("bash", ["--norc", "-c"], text)
    .split("\n")
    .filter((line) => line !== "");
}

test("bash: commands, options, values, job names and files", async () => {
  await prepare("bash");
  expect(bash("s")).toEqual(["submit", "status", "sql"]);
  expect(bash("")).toEqual(expect.arrayContaining(["run", "doctor", "completion", "--version"]));
  const flags = new Set(bash("submit", "--"));
  for (const { flags: all } of settingFlags)
    for (const flag of all.filter((one) => one.startsWith("--"))) expect(flags).toContain(flag);
  expect(bash("status", "--ev")).toEqual(["--everywhere"]);
  expect(bash("submit", "--scheduler", "")).toEqual(["local", "slurm"]);
  expect(bash("submit", "--scheduler", "=", "s")).toEqual(["slurm"]);
  expect(bash("submit", "--scheduler", "=")).toEqual(["local", "slurm"]);
  expect([...bash("status", "")].sort()).toEqual(["/other/theirs", "last", "sim", "simple"]);
  expect(bash("logs", "-f", "si")).toEqual(["sim", "simple"]);
  expect(bash("submit", "my")).toEqual(["my spec.yaml"]);
  expect(bash("submit", "--output", "my")).toEqual(["my spec.yaml"]);
  expect(bash("submit", "--limit", "")).toEqual([]);
  expect(bash("run", "--", "my")).toEqual(["my spec.yaml"]);
  expect(bash("completion", "")).toEqual(["bash", "zsh", "fish"]);
  expect(bash("help", "st")).toEqual(["status"]);
  expect(bash("doctor", "")).toEqual(expect.arrayContaining(["my spec.yaml", "sim"]));
});

test("bash: job names are those of STINT_DIR, and none outside of a project; typing is not waited for", async () => {
  await prepare("bash");
  const jobs = (setup: string): string => run("bash", ["--norc", "-c"], `source '${script}'; ${setup}; _stint_jobs`);
  expect(jobs(`cd /; STINT_DIR='${join(project.folder, ".stint")}'`)).toMatch(
    /^sim\nsimple\n(\S+\n)*last\n$|^\S+\nsim\nsimple\nlast\n$/,
  );
  expect(jobs("cd /")).toBe("");
  const begunAt = performance.now();
  run("bash", ["--norc", "-c"], `source '${script}'; for i in 1 2 3 4 5 6 7 8 9 10; do _stint_jobs >/dev/null; done`);
  // Ten times, a new shell included: far below what a single start of Node takes.
  expect(performance.now() - begunAt).toBeLessThan(1_000);
});

test("bash asks the function through its own machinery", async () => {
  await prepare("bash");
  const text = `source '${script}'; complete -p stint`;
  expect(run("bash", ["--norc", "-c"], text)).toBe("complete -F _stint stint\n");
});

test("zsh: the same through its own line editor", async ({ skip }) => {
  skip(!isThere("zsh"), "zsh is not installed");
  await prepare("zsh");
  /** What the line becomes when Tab is pressed. */
  const tab = (line: string): string =>
    run(
      "zsh",
      ["-f", "-c"],
      [
        "zmodload zsh/zpty",
        "zpty z zsh -f -i",
        'zpty -w z "PS1=; PS2=; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; source $0"',
        'zpty -w z \'show() { print -r -- "<$BUFFER>"; zle kill-buffer }; zle -N show; bindkey "^X" show; bindkey "^I" expand-or-complete; setopt no_beep; print rea""dy\'',
        "zpty -r z before '*ready*'",
        "zpty -w -n z $1$'\\t\\x18'",
        "zpty -r z out '*<*>*'",
        `out=\${out##*<}; print -r -- \${out%%>*}`,
        "zpty -d z",
      ]
        .join("\n")
        .replace("$0", script)
        .replace("$1", JSON.stringify(line)),
    ).trim();
  expect(tab("stint comp")).toBe("stint completion");
  expect(tab("stint status --every")).toBe("stint status --everywhere");
  expect(tab("stint submit --scheduler sl")).toBe("stint submit --scheduler slurm");
  expect(tab("stint logs simp")).toBe("stint logs simple");
  expect(tab("stint submit my")).toBe("stint submit my\\ spec.yaml");
});

test("fish: the same as it is asked for completions", async ({ skip }) => {
  skip(!isThere("fish"), "fish is not installed");
  await prepare("fish");
  const fish = (line: string): readonly string[] =>
    run("fish", ["--no-config", "-c"], `source '${script}'; complete -C '${line}'`)
      .split("\n")
      .filter((one) => one !== "")
      .map((one) => one.split("\t")[0] ?? "");
  expect(fish("stint s")).toEqual(expect.arrayContaining(["status", "submit"]));
  expect(fish("stint status --ev")).toEqual(["--everywhere"]);
  expect([...fish("stint submit --scheduler ")].sort()).toEqual(["local", "slurm"]);
  expect([...fish("stint status ")].sort()).toEqual(["/other/theirs", "last", "sim", "simple"]);
  expect([...fish("stint completion ")].sort()).toEqual(["bash", "fish", "zsh"]);
  expect(fish("stint submit my")).toEqual(["my spec.yaml"]);
});

test("for which shell must be said", async () => {
  const ran = await project.stint(["completion"]);
  expect(ran.status).toBe(2);
  expect(ran.stderr).toContain("stint completion bash, zsh or fish");
  expect((await project.stint(["completion", "tcsh"])).status).toBe(2);
});
