/**
 * A runner that is started before its attempt's turn, so that Node's own start lies outside the time between two attempts.
 * It does nothing before its shepherd's word comes through the pipe that is its standard input; when the
 * pipe ends without a word, whoever held it is gone or needs it no more, and it leaves.
 */
import type { Writable } from "node:stream";
import { type Application, aliveHere, realClock, signalMembers, spawnApplication } from "../host/index.ts";
import { LOCAL_LIMIT_END, LOCAL_STANDBY } from "../schedulers/index.ts";

type Started = Extract<Application, { kind: "started" }>;

/** One that is asked to leave and does not is ended after this. */
const PATIENCE_MS = 2_000;

/** The shepherd's end. */
export class Standby {
  #runner: Promise<Application> | null = null;

  /** Starts it, once. A start that fails is no fault: the runner is then started when its turn comes. */
  prepare(argv: readonly string[], environment: Readonly<Record<string, string>>): void {
    this.#runner ??= spawnApplication(argv, {
      cwd: "/",
      env: { ...environment, [LOCAL_STANDBY]: "1" },
      stdin: "pipe",
      stdout: 1,
      stderr: 2,
    });
  }

  /** Its turn has come: the word is given. Null: there is none that could take it. */
  async begin(limitEndMonotonicMs: number | null): Promise<Started | null> {
    const runner = await this.#running();
    if (runner === null) return null;
    runner.input.end(`${limitEndMonotonicMs === null ? "" : Math.round(limitEndMonotonicMs)}\n`);
    return runner;
  }

  /** It is not needed: resolves when it has gone. */
  async dismiss(): Promise<void> {
    const runner = await this.#running();
    if (runner === null) return;
    runner.input.destroy();
    await Promise.race([runner.exit, realClock.sleep(PATIENCE_MS)]);
    signalMembers([runner.ref], "SIGKILL");
  }

  async #running(): Promise<(Started & { readonly input: Writable }) | null> {
    const runner = await this.#runner;
    if (runner?.kind !== "started") return null;
    const { input } = runner;
    return input === null || aliveHere(runner.ref) !== "alive" ? null : { ...runner, input };
  }
}

export function isStandby(): boolean {
  return process.env[LOCAL_STANDBY] !== undefined;
}

/** The runner's end: waits for the word and takes it into its environment. False: there will be none. */
export async function awaitWord(): Promise<boolean> {
  let word = "";
  try {
    for await (const piece of process.stdin) word += String(piece);
  } catch {
    // A broken pipe says nothing: no word.
    return false;
  }
  if (!word.endsWith("\n")) return false;
  if (word.trim() !== "") process.env[LOCAL_LIMIT_END] = word.trim();
  return true;
}
