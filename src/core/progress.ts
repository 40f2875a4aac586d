/**
 * What the checkpoint says about the work done. Five states, and only `above` is progress: an empty or torn checkpoint is
 * `invalid`, never 0, and a file that is not there is `absent`, never 0.
 */
export type Progress =
  | { readonly state: "not-configured" }
  | { readonly state: "absent" }
  | { readonly state: "invalid"; readonly why: string }
  | { readonly state: "not-above"; readonly value: number }
  | { readonly state: "above"; readonly value: number };

/** What was read, before it is held against the high-water mark. */
export type Reading =
  | { readonly kind: "not-configured" }
  | { readonly kind: "absent" }
  | { readonly kind: "invalid"; readonly why: string }
  | { readonly kind: "value"; readonly value: number };

/** Compares a reading with the highest value that any earlier attempt has reached (null: none yet). */
export function progressOf(reading: Reading, highWater: number | null): Progress {
  switch (reading.kind) {
    case "not-configured":
      return { state: "not-configured" };
    case "absent":
      return { state: "absent" };
    case "invalid":
      return { state: "invalid", why: reading.why };
    case "value":
      return { state: highWater === null || reading.value > highWater ? "above" : "not-above", value: reading.value };
  }
}

/** The number behind a progress, or null where there is none. */
export function progressValue(progress: Progress): number | null {
  return progress.state === "above" || progress.state === "not-above" ? progress.value : null;
}

/** `300/500`, `absent`, `invalid (empty file)` …: one word form everywhere. */
export function formatProgress(progress: Progress, total: number | null): string {
  switch (progress.state) {
    case "not-configured":
      return "-";
    case "absent":
      return total === null ? "none yet" : `0/${total}`;
    case "invalid":
      return `invalid (${progress.why})`;
    default:
      return total === null ? String(progress.value) : `${progress.value}/${total}`;
  }
}
