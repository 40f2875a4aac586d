/**
 * Slurm's commands as scripts that answer from files, for answers that no cluster gives on demand: a controller that says "not
 * now", a lasting no to the second job, a job that ended. Nothing is ever run by them.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface SlurmCommands {
  /** For the environment of whoever shall find them. */
  readonly path: string;
  /** What sbatch says to every job from the `after`th on; null: it takes them all. */
  refuse(words: string | null, after?: number): void;
  /** The controller gives no answer. */
  silent(isSilent: boolean): void;
  /** Each job that is there is in this state now; later ones wait. */
  state(state: string): void;
  /** A job of that id runs, and will be ended then (epoch ms, whole seconds). */
  allocation(id: string, endAtMs: number): void;
  /** Why each job that is there waits, and when the controller expects to start it, as it prints both. */
  reason(reason: string, expectedStart?: string): void;
  /** Another program of that name, as lines of sh. */
  program(name: string, lines: readonly string[]): void;
  /** How often a command was started so far. */
  calls(program: string): number;
}

export function slurmCommands(folder: string): SlurmCommands {
  const bin = join(folder, "slurm-bin");
  for (const part of ["jobs", "states", "ends", "reasons", "starts", "calls"])
    mkdirSync(join(bin, part), { recursive: true });
  const say = (name: string, text: string): void => writeFileSync(join(bin, name), text);
  const program = (name: string, lines: readonly string[]): void => {
    const file = join(bin, name);
    writeFileSync(file, ["#!/bin/sh", 'cd "$(dirname "$0")" || exit 9', LOGGED, SILENT, ...lines, ""].join("\n"));
    chmodSync(file, 0o755);
  };
  for (const [name, lines] of Object.entries(SCRIPTS)) program(name, lines);
  return {
    path: `${bin}:${process.env.PATH ?? ""}`,
    program,
    refuse(words, after = 1) {
      rmSync(join(bin, "refusal"), { force: true });
      if (words !== null) say("refusal", words);
      say("taken", String(after - 1));
    },
    silent(isSilent) {
      rmSync(join(bin, "silent"), { force: true });
      if (isSilent) say("silent", "");
    },
    state(state) {
      for (const job of readdirSync(join(bin, "jobs"))) say(join("states", job), state);
    },
    allocation(id, endAtMs) {
      say(join("jobs", id), "/bin/bash");
      say(join("states", id), "RUNNING");
      say(join("ends", id), new Date(endAtMs).toISOString().slice(0, 19));
    },
    reason(reason, expectedStart = "N/A") {
      for (const job of readdirSync(join(bin, "jobs"))) {
        say(join("reasons", job), reason);
        say(join("starts", job), expectedStart);
      }
    },
    calls(program) {
      const log = join(bin, "calls", program);
      return existsSync(log) ? readFileSync(log, "utf8").split("\n").length - 1 : 0;
    },
  };
}

const LOGGED = 'echo "$*" | tr "\\n" " " >> "calls/$(basename "$0")"; echo >> "calls/$(basename "$0")"';
const SILENT = "[ -e silent ] && { echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1; }";

const SCRIPTS: Readonly<Record<string, readonly string[]>> = {
  scontrol: ["printf 'ClusterName = c\\nProctrackType = proctrack/linuxproc\\n'"],
  sbatch: [
    "count=$(ls jobs | wc -l)",
    '[ -e refusal ] && [ "$count" -ge "$(cat taken)" ] && { cat refusal >&2; exit 1; }',
    'for script; do :; done; echo "$script" > "jobs/$((count + 1))"; echo "$((count + 1))"',
  ],
  squeue: [
    "at=2026-11-30T20:08:10",
    "for job in $(ls jobs); do",
    '  start=$(cat "starts/$job" 2>/dev/null || echo $at); reason=$(cat "reasons/$job" 2>/dev/null || echo None)',
    `  for field in "$job" c "$(cat "states/$job" 2>/dev/null || echo PENDING)" "$reason" 0 $at "$start" "$(cat "ends/$job" 2>/dev/null || echo $at)" 30:00 '' main lab normal 1 cpu=1 0 "$(cat "jobs/$job")"; do`,
    "    printf '%s\\037' \"$field\"",
    "  done; printf '\\036\\n'",
    "done",
  ],
  sacct: ["echo 'Slurm accounting storage is disabled' >&2; exit 1"],
  scancel: ["for job; do echo CANCELLED > states/$job; done"],
};
