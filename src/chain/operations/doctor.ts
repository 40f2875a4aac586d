/** Can stint work here? Each finding says what was looked at, what was found, and what to do. */
import type { JobSpec } from "../../core/index.ts";
import type { LoadedSite } from "../site.ts";
import { loadSite } from "../site.ts";
import { checkpointFindings } from "./doctor-checkpoint.ts";
import { folderFindings, machineFindings } from "./doctor-machine.ts";
import { mendFinding } from "./doctor-mend.ts";
import { schedulerFindings } from "./doctor-slurm.ts";
import { type Finding, ok, problem } from "./finding.ts";
import type { Where } from "./project.ts";

export interface DoctorOptions {
  /** A job to look at as well: its checkpoint's folder and what it asks Slurm for. */
  readonly spec?: JobSpec | null;
  /** Default true where there is a job. */
  readonly looksAtCheckpoint?: boolean;
  /** The words that start this program (node, script), for a line that starts it again. Default: `stint`. */
  readonly program?: readonly string[];
}

/** Looks at this machine, this folder and the scheduler. Writes nothing that stays. Never throws. */
export async function doctor(where: Where, options: DoctorOptions = {}): Promise<readonly Finding[]> {
  const { spec = null, looksAtCheckpoint = true, program = ["stint"] } = options;
  const site = await loadSite(where.environment);
  const slurm = await schedulerFindings(where, spec, site);
  return [
    ...machineFindings(where),
    ...(await folderFindings(where)),
    ...(spec === null || !looksAtCheckpoint ? [] : await checkpointFindings(where, spec)),
    siteFinding(site),
    ...slurm.findings,
    ...(slurm.questions === null ? [] : [await mendFinding(where, slurm.questions, program)]),
  ];
}

function siteFinding(loaded: LoadedSite): Finding {
  switch (loaded.kind) {
    case "none":
      return ok("site file", `none (${loaded.path} is not there)`);
    case "errors":
      return problem("site file", loaded.errors.join("; "), "ask who keeps it; STINT_SITE names another one");
    case "site": {
      const { name, defaults, pollFloorMs, forbiddenPartitions, trust, caps } = loaded.site;
      const rules = [
        pollFloorMs === null ? null : "poll-floor",
        forbiddenPartitions === null ? null : `forbidden-partitions ${forbiddenPartitions.value.join(", ")}`,
        trust === null ? null : `trust ${trust.value}`,
        ...Object.entries(caps).map(([key, cap]) => (cap === null ? null : `caps.${key === "wallMs" ? "wall" : key}`)),
        ...[...defaults.keys()].map((key) => `defaults.${key}`),
      ].filter((rule) => rule !== null);
      return ok("site file", `${name}${rules.length === 0 ? ", which sets nothing" : `: ${rules.join("; ")}`}`);
    }
  }
}
