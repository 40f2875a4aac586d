/** Partitions as `scontrol -o show partition` prints them: one a line. */
import { parseLimit } from "./time-stamp.ts";

export interface Partition {
  readonly name: string;
  readonly isDefault: boolean;
  /** `UP`, `DOWN`, `DRAIN`, `INACTIVE`. */
  readonly state: string;
  /** null: no limit. */
  readonly maxTimeMs: number | null;
  /** For a job that names no limit; null: none of its own, the longest counts. */
  readonly defaultTimeMs: number | null;
  readonly allowAccounts: readonly string[] | "all";
  /** Nodes on which `sbatch` may be called for it. */
  readonly allocNodes: string;
}

export function parsePartitions(text: string): readonly Partition[] {
  return text.split("\n").flatMap((line) => {
    const name = /^PartitionName=(\S+)/.exec(line)?.[1];
    if (name === undefined) return [];
    const value = (key: string): string => new RegExp(` ${key}=(\\S+)`).exec(line)?.[1] ?? "";
    const accounts = value("AllowAccounts");
    return [
      {
        name,
        isDefault: value("Default") === "YES",
        state: value("State"),
        maxTimeMs: parseLimit(value("MaxTime")),
        defaultTimeMs: parseLimit(value("DefaultTime")),
        allowAccounts: accounts === "" || accounts === "ALL" ? "all" : accounts.split(","),
        allocNodes: value("AllocNodes"),
      },
    ];
  });
}
