/**
 * What a node that has lost the network is to one process on it: the job folder hangs and the controller can't be asked,
 * while everybody else on this host reaches both. It takes a mount namespace, so this is for root, and the process must
 * have been started with `OWN_NAMESPACE`.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Before a command: it sees the mounts of this host, and what is mounted for it alone. */
export const OWN_NAMESPACE = "unshare --user --mount --map-current-user --";

export interface CutProcess {
  readonly pid: number;
  /** `.stint` of the project. */
  readonly stintFolder: string;
  readonly attemptFolder: string;
  /** Without its socket no command of Slurm's gets an answer. */
  readonly mungeFolder: string;
}

/** From now on the next heartbeat of the process hangs, and its commands fail. */
export async function cutProcess({ pid, stintFolder, attemptFolder, mungeFolder }: CutProcess): Promise<void> {
  await inNamespaceOf(
    pid,
    // To open a pipe that nobody reads hangs, as a file on a server that is gone does.
    `set -e
     mount -t tmpfs none "$1"; mkdir -p "$2"; mkfifo -m 666 "$2/samples.csv"
     mount -t tmpfs none "$3"`,
    [stintFolder, attemptFolder, mungeFolder],
  );
}

/** The network is back: what hangs goes on, and the process sees folder and controller as they are now. */
export async function reconnectProcess({ pid, stintFolder, attemptFolder, mungeFolder }: CutProcess): Promise<void> {
  await inNamespaceOf(pid, `exec 3<>"$2/samples.csv"; umount -l "$1" && umount -l "$3"`, [
    stintFolder,
    attemptFolder,
    mungeFolder,
  ]);
}

async function inNamespaceOf(pid: number, script: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)("nsenter", ["--mount", `--target=${pid}`, "bash", "-c", script, "bash", ...args]);
}
