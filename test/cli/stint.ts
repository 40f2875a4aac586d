/** A project folder of its own, and the built command line in it, as a user has it. */
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const DIST = process.env.STINT_TEST_DIST ?? join(root, "dist");
export const CLI = join(DIST, "cli", "main.js");

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
  /** Resolves when stderr or stdout holds the text. Rejects when it ends without. */
  shows(text: string): Promise<void>;
}

export interface TestProject {
  readonly folder: string;
  /** Where `/me/name` lies. */
  jobFolder(name: string): string;
  stint(args: readonly string[], options?: Options): Promise<Ran>;
  start(args: readonly string[], options?: Options): Running;
  /** The one JSON value that a command prints. */
  json(args: readonly string[]): Promise<Answer>;
}

export interface Options {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Of the JSON output, what these tests look at. */
export interface Answer {
  readonly schemaVersion: number;
  readonly job?: Job;
  readonly jobs?: readonly Job[];
  readonly attempts?: readonly {
    readonly number: number;
    readonly verdict: string | null;
    readonly ref: string | null;
  }[];
  readonly error?: { readonly code: string; readonly exitStatus: number };
  readonly findings?: readonly unknown[];
  readonly removed?: readonly string[];
  readonly result?: unknown;
  readonly spec?: { readonly limitMs: number | null };
  readonly origins?: Readonly<Record<string, string>>;
}

export interface Job {
  readonly job: string;
  readonly state: string;
  readonly reason: string | null;
  readonly decision: string | null;
  readonly attempt: number | null;
  readonly attempts: number;
  readonly submittedAtMs: number | null;
  readonly progress: { readonly state: string; readonly value?: number };
}

const open: TestProject[] = [];

afterEach(async () => {
  for (const project of open.splice(0)) await endAll(project);
});

export const me = userInfo().username;

/** Quick settings: windows of about a second, every wait short. */
export const QUICK = [
  ...["--scheduler", "local", "--limit", "4s", "--margin", "2.5s", "--kill-wait", "1s"],
  ...["--sample-interval", "0.2s", "--backoff-first", "0.1s", "--backoff-max", "1s"],
];

/** Counts to `total` with examples/count.sh, 50 ms a step. */
export function counting(name: string, total: number, more: readonly string[] = []): readonly string[] {
  return [
    ...QUICK,
    ...["--name", name, "--checkpoint", `${name}.txt`, "--total", String(total)],
    ...["--env", "STEP_SEC=0.05", "--env", "CHECKPOINT_EVERY=5"],
    ...more,
    ...["--", "bash", "count.sh"],
  ];
}

export function newProject(): TestProject {
  if (!existsSync(CLI)) throw new Error(`${CLI} is not there: npm run build`);
  const folder = mkdtempSync(join(tmpdir(), "stint-cli-"));
  copyFileSync(join(root, "examples", "count.sh"), join(folder, "count.sh"));
  const start = (args: readonly string[], options: Options = {}): Running => begin(folder, args, options);
  const stint = (args: readonly string[], options: Options = {}): Promise<Ran> => start(args, options).ended;
  const project: TestProject = {
    folder,
    jobFolder: (name) => join(folder, ".stint", "jobs", me, name),
    stint,
    start,
    json: async (args) => JSON.parse((await stint([...args, "--json"])).stdout) as Answer,
  };
  open.push(project);
  return project;
}

/** Waits for the thing itself. */
export async function until<T>(look: () => T | null | undefined | false, what: string, withinMs = 20_000): Promise<T> {
  const endAt = Date.now() + withinMs;
  for (;;) {
    const seen = look();
    if (seen) return seen;
    if (Date.now() > endAt) throw new Error(`did not come within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function attemptsOnFile(project: TestProject, name: string): readonly string[] {
  const folder = join(project.jobFolder(name), "tasks", "0", "attempts");
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

export function readRecord<T>(project: TestProject, name: string, attempt: string, record: string): T | null {
  const path = join(project.jobFolder(name), "tasks", "0", "attempts", attempt, record);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as T) : null;
}

function begin(folder: string, args: readonly string[], options: Options): Running {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSetting(name)));
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: options.cwd ?? folder,
    env: { ...env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  let wake: () => void = () => {};
  child.stdout.on("data", (bytes: Buffer) => {
    stdout += bytes.toString();
    wake();
  });
  child.stderr.on("data", (bytes: Buffer) => {
    stderr += bytes.toString();
    wake();
  });
  let over = false;
  const ended = new Promise<Ran>((resolve) => {
    child.on("close", (status) => {
      over = true;
      wake();
      resolve({ status, stdout, stderr });
    });
  });
  return {
    child,
    ended,
    async shows(text) {
      while (!stdout.includes(text) && !stderr.includes(text)) {
        if (over) throw new Error(`ended without saying "${text}":\n${stdout}\n${stderr}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/** What the shell that runs the tests happens to export must not change them. */
function isSetting(name: string): boolean {
  return /^(STINT|SBATCH|SLURM|RUNNER|SUBMITTER|CKPT|MAX_ITER|CHECKPOINT|APP_CMD|LAUNCH|MODULE)(_|$)/.test(name);
}

async function endAll(project: TestProject): Promise<void> {
  const { jobs = [] } = await project.json(["status"]);
  for (const { job, state } of jobs)
    if (state === "running" || state === "waiting" || state === "stranded")
      await project.stint(["cancel", job, "--timeout", "20s"]);
  rmSync(project.folder, { recursive: true, force: true, maxRetries: 3 });
}
