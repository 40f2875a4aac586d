/** The texts that say where control groups are: /proc/PID/cgroup and /proc/PID/mountinfo. */

export interface CgroupMount {
  readonly version: 1 | 2;
  /** v1: what is accounted there (`memory`, `cpuacct` …); v2: empty. */
  readonly controllers: readonly string[];
  readonly folder: string;
  /** The part of the hierarchy that is mounted there: `/` unless a container sees only its own. */
  readonly root: string;
}

/** Path by controller; the v2 hierarchy has the key "". Null where the text names none. */
export function parseCgroupText(text: string): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  for (const line of text.split("\n")) {
    const match = /^\d+:([^:]*):(.*)$/.exec(line);
    if (match === null) continue;
    for (const controller of (match[1] ?? "").split(",")) paths.set(controller, match[2] ?? "/");
  }
  return paths;
}

/** Fields of a line: id, parent, device, root, folder, options, optional fields …, `-`, type, source, super options. */
export function parseCgroupMounts(text: string): readonly CgroupMount[] {
  const mounts: CgroupMount[] = [];
  for (const line of text.split("\n")) {
    const [before, after] = line.split(" - ");
    const left = before?.split(" ") ?? [];
    const [type, , options] = after?.split(" ") ?? [];
    if (type !== "cgroup" && type !== "cgroup2") continue;
    mounts.push({
      version: type === "cgroup2" ? 2 : 1,
      controllers:
        type === "cgroup2" ? [] : (options ?? "").split(",").filter((word) => word !== "rw" && word !== "ro"),
      root: unescapeMount(left[3] ?? "/"),
      folder: unescapeMount(left[4] ?? ""),
    });
  }
  return mounts;
}

/** Where a path of a hierarchy is found below its mount. */
export function folderInMount(mount: CgroupMount, path: string): string {
  const inside =
    mount.root !== "/" && (path === mount.root || path.startsWith(`${mount.root}/`))
      ? path.slice(mount.root.length)
      : path;
  return `${mount.folder}${inside === "/" ? "" : inside}`;
}

/**
 * The group of the whole Slurm job in the path of one of its processes, e.g. `/slurm/uid_1000/job_7` or
 * `/system.slice/slurmstepd.scope/job_7`; null where the path is no job's. Newer versions name the folder otherwise: it is
 * the one above `step_…`.
 */
export function slurmJobPath(path: string): string | null {
  const parts = path.split("/");
  const slurm = parts.findIndex((part) => /^(?:.*_)?slurm/.test(part));
  if (slurm < 0) return null;
  const job = parts.findIndex((part, at) => at > slurm && /^job_\d+$/.test(part));
  if (job >= 0) return parts.slice(0, job + 1).join("/");
  const step = parts.findIndex((part, at) => at > slurm + 1 && part.startsWith("step_"));
  return step < 0 ? null : parts.slice(0, step).join("/");
}

function unescapeMount(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
