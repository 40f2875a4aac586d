/** Starting Slurm's commands: an argument vector, never a shell. */
import spawn, { SubprocessError } from "nano-spawn";

export interface CommandOptions {
  /** The whole environment; nothing of this process's own is added. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly timeoutMs: number;
}

export type Ran =
  | { readonly kind: "ended"; readonly exitCode: number; readonly stdout: string; readonly stderr: string }
  /** It may have done its work all the same. */
  | { readonly kind: "timed-out" }
  /** Ended by a signal: likewise. */
  | { readonly kind: "killed"; readonly signal: string }
  /** There is no such program, or the system could not start it: nothing was done. */
  | { readonly kind: "not-started"; readonly error: string };

export type RunCommand = (program: string, args: readonly string[], options: CommandOptions) => Promise<Ran>;

/** Runs a program and waits for its end, at most `timeoutMs`; then it is killed, and nobody waits for that to work. */
export const runCommand: RunCommand = async (program, args, { env, cwd, timeoutMs }) => {
  const child = spawn(program, [...args], {
    env: exactly(env),
    cwd,
    stdin: "ignore",
    // Ctrl-C in the terminal must not cut a submit in two.
    detached: true,
  });
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<Ran>((resolve) => {
    timer = setTimeout(() => {
      resolve({ kind: "timed-out" });
      child.nodeChildProcess.then(
        (process) => {
          process.kill("SIGKILL");
          process.unref();
        },
        () => undefined, // never started: nothing to end
      );
    }, timeoutMs);
  });
  const ended = child.then(
    ({ stdout, stderr }): Ran => ({ kind: "ended", exitCode: 0, stdout, stderr }),
    (error: unknown): Ran => {
      if (!(error instanceof SubprocessError)) throw error;
      if (error.exitCode !== undefined)
        return { kind: "ended", exitCode: error.exitCode, stdout: error.stdout, stderr: error.stderr };
      if (error.signalName !== undefined) return { kind: "killed", signal: error.signalName };
      return { kind: "not-started", error: reason(error) };
    },
  );
  try {
    return await Promise.race([ended, timedOut]);
  } finally {
    clearTimeout(timer);
  }
};

/** nano-spawn adds this process's environment; a name set to undefined is left out again. */
function exactly(env: Readonly<Record<string, string>>): Record<string, string> {
  const without = Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]));
  // The type has no undefined, node takes it as "leave out".
  return { ...without, ...env } as Record<string, string>;
}

function reason(error: SubprocessError): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}
