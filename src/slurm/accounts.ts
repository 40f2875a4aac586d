/** Limits of a user as accounting keeps them: associations and QOS, from `sacctmgr -nP`. */
import { parseLimit } from "./time-stamp.ts";

/** What a user may do under one account; null: no limit. Limits of the accounts above are in it. */
export interface Association {
  readonly account: string;
  /** Empty: any. */
  readonly partition: string;
  readonly maxJobs: number | null;
  /** Jobs that may be queued and running together. */
  readonly maxSubmit: number | null;
  readonly maxWallMs: number | null;
  readonly defaultQos: string;
}

export interface Qos {
  readonly name: string;
  readonly maxSubmitPerUser: number | null;
  readonly maxJobsPerUser: number | null;
  readonly maxWallMs: number | null;
}

const ASSOCIATION_FIELDS = ["Account", "Partition", "MaxJobs", "MaxSubmit", "MaxWall", "DefaultQOS"] as const;
const QOS_FIELDS = ["Name", "MaxSubmitPU", "MaxJobsPU", "MaxWall"] as const;

export const ASSOCIATION_FORMAT = ASSOCIATION_FIELDS.join(",");
export const QOS_FORMAT = QOS_FIELDS.join(",");

/** Lines of `sacctmgr -nP show assoc format=…`. @throws SyntaxError for a line of another form. */
export function parseAssociations(text: string): readonly Association[] {
  return rowsOf(text, ASSOCIATION_FIELDS.length).map(
    ([account = "", partition = "", jobs = "", submit = "", wall = "", defaultQos = ""]) => ({
      account,
      partition,
      maxJobs: numberOf(jobs),
      maxSubmit: numberOf(submit),
      maxWallMs: parseLimit(wall),
      defaultQos,
    }),
  );
}

/** Lines of `sacctmgr -nP show qos format=…`. @throws SyntaxError for a line of another form. */
export function parseQos(text: string): readonly Qos[] {
  return rowsOf(text, QOS_FIELDS.length).map(([name = "", submit = "", jobs = "", wall = ""]) => ({
    name,
    maxSubmitPerUser: numberOf(submit),
    maxJobsPerUser: numberOf(jobs),
    maxWallMs: parseLimit(wall),
  }));
}

function rowsOf(text: string, fields: number): readonly (readonly string[])[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const row = line.split("|");
    if (row.length !== fields)
      throw new SyntaxError(`sacctmgr answered ${row.length} fields, expected ${fields}: ${line}`);
    return row;
  });
}

/** Empty, and `-1`: no limit. */
function numberOf(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null;
}
