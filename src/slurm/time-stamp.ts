import { parseDuration } from "../core/index.ts";

/**
 * A time as Slurm's commands print it when they run with TZ=UTC and SLURM_TIME_FORMAT=standard, as epoch milliseconds.
 * null for `N/A`, `Unknown`, `None` and anything else that is no time.
 */
export function parseTimeStamp(text: string): number | null {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(text)) return null;
  const ms = Date.parse(`${text}Z`);
  return Number.isNaN(ms) ? null : ms;
}

/** A limit as Slurm prints it, in ms; null for `UNLIMITED`, `NONE` and an empty field. */
export function parseLimit(text: string): number | null {
  const parsed = parseDuration(text, { bareNumber: "minutes" });
  return parsed.kind === "duration" ? parsed.ms : null;
}

/** The environment that makes Slurm's commands print times which `parseTimeStamp` reads. */
export const TIME_STAMP_ENVIRONMENT = { TZ: "UTC", SLURM_TIME_FORMAT: "standard" } as const;
