import type { State } from "./states.ts";

/** How a job ended, as two numbers of which one is 0: the exit code and the signal. */
export interface ExitStatus {
  readonly exitCode: number;
  readonly signal: number;
}

/** sacct's `7:0` (exit code) and `0:9` (signal); null for an empty field, which is what a lost node leaves. */
export function parseExitStatus(text: string): ExitStatus | null {
  const match = /^(\d+):(\d+)$/.exec(text);
  return match === null ? null : { exitCode: Number(match[1]), signal: Number(match[2]) };
}

/** squeue's exit_code: the raw status of wait(2), e.g. 1792 for `exit 7` and 9 for SIGKILL. */
export function decodeWaitStatus(text: string): ExitStatus | null {
  if (!/^\d+$/.test(text)) return null;
  const status = Number(text);
  const signal = status & 0x7f;
  return signal === 0 ? { exitCode: (status >> 8) & 0xff, signal: 0 } : { exitCode: 0, signal };
}

/** What a job's exit status says, as one number or the other: Slurm writes 0:0 where it means nothing, and 0:125 for out of memory. */
export function meaningfulExit(
  state: State | null,
  exit: ExitStatus | null,
): { readonly exitCode: number | null; readonly signal: number | null } {
  if (exit === null || state === null || (state.word !== "COMPLETED" && state.word !== "FAILED"))
    return { exitCode: null, signal: null };
  return exit.signal === 0 ? { exitCode: exit.exitCode, signal: null } : { exitCode: null, signal: exit.signal };
}
