/** One thing that was looked at. */

export interface Finding {
  readonly what: string;
  readonly level: "ok" | "warning" | "problem";
  readonly found: string;
  /** What to do; null where nothing has to be done. */
  readonly advice: string | null;
}

export function ok(what: string, found: string, advice: string | null = null): Finding {
  return { what, level: "ok", found, advice };
}

/** It works, and not as well as it could. */
export function warning(what: string, found: string, advice: string): Finding {
  return { what, level: "warning", found, advice };
}

/** A chain would fail, or never start. */
export function problem(what: string, found: string, advice: string): Finding {
  return { what, level: "problem", found, advice };
}
