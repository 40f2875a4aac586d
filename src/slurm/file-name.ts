/** File names with Slurm's patterns, as sbatch's --output has them. */

export interface FileNameValues {
  /** `%j`, and `%A` outside of an array. */
  readonly jobId: string;
  /** `%a` */
  readonly index: string;
  /** `%x` */
  readonly jobName: string;
  /** `%N`: the node of the batch script, without its domain. */
  readonly node: string;
  /** `%u` */
  readonly user: string;
}

/**
 * The name with its patterns filled in, for the batch step. `%5j` fills up with zeros. A backslash anywhere switches the
 * patterns off and is itself taken away once; what is no pattern stays.
 */
export function fillFileName(pattern: string, values: FileNameValues): string {
  if (pattern.includes("\\")) return pattern.replaceAll(/\\(.?)/gs, "$1");
  const { jobId, index, jobName, node, user } = values;
  const by: Readonly<Record<string, string>> = {
    A: jobId,
    J: jobId,
    N: node,
    a: index,
    j: jobId,
    // The batch script is the first task on the first node.
    n: "0",
    s: "batch",
    t: "0",
    u: user,
    x: jobName,
  };
  return pattern.replace(
    /%(?:%|(\d{0,2})([AJNajnstux]))/g,
    (_, width: string | undefined, letter: string | undefined) => {
      if (letter === undefined) return "%";
      const value = by[letter] ?? "";
      return /^\d+$/.test(value) ? value.padStart(Math.min(Number(width), 10), "0") : value;
    },
  );
}
