/** Whether a job's checkpoint can be saved: the folder, the room, and the user's quota. */
import { spaceFor } from "../../checkpoint/index.ts";
import { definedVariables, formatBytes, type JobSpec } from "../../core/index.ts";
import { findProgram, parseQuota, type Quota } from "../../host/index.ts";
import { loadSlurm } from "../../schedulers/index.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";
import type { Where } from "./project.ts";

export async function checkpointFindings(where: Where, spec: JobSpec): Promise<readonly Finding[]> {
  const { checkpoint, cwd } = spec;
  if (checkpoint === null)
    return [
      warning(
        "checkpoint",
        "the job names none: its progress cannot be seen",
        "name what it saves with --checkpoint; without one it can only say by exit status 99 that there is more to do",
      ),
    ];
  const found = await spaceFor(checkpoint, cwd);
  const findings = found.map(({ severity, text }) =>
    severity === "error"
      ? problem("checkpoint", text, "mend it before the job is submitted")
      : warning("checkpoint", text, "look at it before the job is submitted"),
  );
  const shown = findings.length > 0 ? findings : [ok("checkpoint", `${checkpoint.path} can be saved in ${cwd}`)];
  return [...shown, ...(await quotaFindings(where))];
}

const ANSWER_MS = 5_000;

/** `df` does not know a user's quota. Where there is no `quota`, nothing is said: most systems have none. */
async function quotaFindings({ environment }: Where): Promise<readonly Finding[]> {
  if (findProgram("quota", environment.PATH ?? "") === null) return [];
  const { runCommand } = await loadSlurm();
  const env = definedVariables({ ...environment, LC_ALL: "C" });
  // Exit status 1 says that a quota is exceeded.
  const ran = await runCommand("quota", ["-w", "-p"], { env, cwd: "/", timeoutMs: ANSWER_MS });
  return ran.kind === "ended" ? parseQuota(ran.stdout).flatMap(quotaFinding) : [];
}

const NEARLY_FULL = 0.9;

function quotaFinding(quota: Quota): readonly Finding[] {
  const { fileSystem, usedBytes, limitBytes, files, limitFiles } = quota;
  const parts = [
    limitBytes === null
      ? null
      : { used: usedBytes / limitBytes, text: `${formatBytes(usedBytes)} of ${formatBytes(limitBytes)}` },
    limitFiles === null ? null : { used: files / limitFiles, text: `${files} of ${limitFiles} files` },
  ].filter((part) => part !== null);
  if (parts.length === 0) return [];
  const found = `${parts.map(({ text }) => text).join(", ")} used on ${fileSystem}`;
  const most = Math.max(...parts.map(({ used }) => used));
  if (most >= 1) return [problem("quota", found, "free some space: a checkpoint can't be saved over a quota")];
  return [most >= NEARLY_FULL ? warning("quota", found, "free some space before a long chain") : ok("quota", found)];
}
