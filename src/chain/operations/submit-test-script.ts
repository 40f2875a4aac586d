/** The script of `doctor --submit-test`, and its report: what a compute node looks like from inside a job. Pure text. */
import { quoteCommand, quoteShell } from "../../core/index.ts";

export interface TestScriptParts {
  /** Absolute; on the file system that the jobs will use. */
  readonly folder: string;
  /** The node program that the runner of a chain would be started with. */
  readonly node: string;
  /** sbatch's options for partition, account and the like, without ours. */
  readonly options: readonly string[];
  /** Path of the site file, looked for on the node too. */
  readonly site: string;
}

export const REPORT = "report";
export const TOKEN = "token";

/** A plain sh script of a few seconds: every command that may hang has its own time. */
export function testScript({ folder, node, options, site }: TestScriptParts): string {
  const path = quoteShell(`${folder}/${REPORT}`);
  return `#!/bin/sh
# stint doctor --submit-test: looks at this node, writes a report and ends.
cd ${quoteShell(folder)} || exit 9
report=${path}
say() { printf '%s=%s\\n' "$1" "$(printf '%s' "$2" | tr '\\n' ' ')" >>"$report.part"; }
soon() { if command -v timeout >/dev/null 2>&1; then timeout 8 "$@"; else "$@"; fi; }
say clock "$(date +%s)"
say host "$(hostname)"
say token "$(cat ${quoteShell(`${folder}/${TOKEN}`)} 2>&1)"
say node "$(soon ${quoteShell(node)} --version 2>&1 | head -n 1)"
say addresses "$(ulimit -v)"
say cgroup "$(cat /proc/self/cgroup 2>/dev/null)"
say perl "$(command -v perl)"
say site "$([ -e ${quoteShell(site)} ] && cksum <${quoteShell(site)})"
say squeue "$(soon squeue -h -j "$SLURM_JOB_ID" -o %i 2>&1 | tail -n 1)"
say scancel "$(soon scancel --version 2>&1 | tail -n 1)"
say scontrol "$(soon scontrol ping 2>&1 | head -n 1)"
# Whether this node may submit: sbatch asks the controller, and nothing is submitted.
said=$(unset SLURM_JOB_ID SLURM_JOBID SLURM_NTASKS SLURM_NPROCS SLURM_MEM_PER_NODE SLURM_MEM_PER_CPU; soon sbatch --test-only ${quoteCommand([...options, "--time=1"])} -o /dev/null --wrap true 2>&1)
say sbatch "$? $said"
say end "$(date +%s)"
mv "$report.part" "$report"
`;
}

export type TestReport = Readonly<Record<string, string>>;

/** `name=value` lines; the last one of a name counts. */
export function parseReport(text: string): TestReport {
  return Object.fromEntries(
    text.split("\n").flatMap((line) => {
      const at = line.indexOf("=");
      return at <= 0 ? [] : [[line.slice(0, at), line.slice(at + 1).trim()]];
    }),
  );
}
