/** A site file (`/etc/stint.yaml`) into rules and defaults, each with its place. */

import type { Setting } from "./setting.ts";
import { nowSettings, type SiteNow, siteNow } from "./site-now.ts";
import { DEFAULTS, siteSettings, siteTable } from "./site-settings.ts";
import type { SiteValue } from "./site-value.ts";
import type { FileValue } from "./spec-file.ts";

export interface SiteFile {
  /** Path, as it is shown. */
  readonly name: string;
  /** By the setting's key, below the user's own sources and above the built-in defaults. */
  readonly defaults: ReadonlyMap<string, FileValue>;
  readonly pollFloorMs: SiteValue<number> | null;
  readonly forbiddenPartitions: SiteValue<readonly string[]> | null;
  readonly trust: SiteValue<"scheduler" | "cgroup"> | null;
  readonly caps: {
    readonly attempts: SiteValue<number> | null;
    readonly wallMs: SiteValue<number> | null;
    readonly ahead: SiteValue<number> | null;
  };
}

export type ParsedSiteFile =
  | { readonly kind: "site"; readonly site: SiteFile }
  /** One line each, beginning with `name:line:column`. */
  | { readonly kind: "errors"; readonly errors: readonly string[] };

/** Reads YAML text by the same machinery as a spec file: unknown keys and values that mean nothing are refused. */
export async function parseSiteFile(text: string, name: string): Promise<ParsedSiteFile> {
  const { readSpecText } = await import("./spec-text.ts");
  const parsed = readSpecText(text, name, siteTable);
  if (parsed.kind === "errors") return parsed;
  const { values } = parsed.file;
  const errors = siteTable.flatMap(({ key, kind }) => {
    const found = values.get(key);
    const answer = found === undefined ? null : kind.read(found.raw);
    return found === undefined || answer === null || answer.ok ? [] : [`${found.at}: ${key}: ${answer.error}`];
  });
  if (errors.length > 0) return { kind: "errors", errors };
  const read = <T>(setting: Setting<T>): SiteValue<T> | null => {
    const found = values.get(setting.key);
    const answer = found === undefined ? null : setting.kind.read(found.raw);
    return found === undefined || answer === null || !answer.ok ? null : { value: answer.value, at: lineOf(found.at) };
  };
  const unread = unreadOnNodes(siteNow(text, name), {
    pollFloorMs: read(siteSettings.pollFloor),
    trust: read(siteSettings.trust),
  });
  if (unread.length > 0)
    return {
      kind: "errors",
      errors: unread.map((key) => `${values.get(key)?.at ?? name}: ${key}: ${ON_ITS_OWN_LINE} ${key}: …`),
    };
  return {
    kind: "site",
    site: {
      name,
      defaults: defaultsOf(values),
      pollFloorMs: read(siteSettings.pollFloor),
      forbiddenPartitions: read(siteSettings.forbiddenPartitions),
      trust: read(siteSettings.trust),
      caps: {
        attempts: read(siteSettings.capAttempts),
        wallMs: read(siteSettings.capWall),
        ahead: read(siteSettings.capAhead),
      },
    },
  };
}

const ON_ITS_OWN_LINE = "compute nodes read it without a YAML parser: write it without quotes on a line of its own, as";

/** Keys of which the quick reader would see another value than YAML does. */
function unreadOnNodes(quick: SiteNow, whole: SiteNow): readonly string[] {
  const same = (a: SiteValue<unknown> | null, b: SiteValue<unknown> | null): boolean => a?.value === b?.value;
  return [
    same(quick.pollFloorMs, whole.pollFloorMs) ? null : nowSettings.pollFloor.key,
    same(quick.trust, whole.trust) ? null : nowSettings.trust.key,
  ].filter((key) => key !== null);
}

function defaultsOf(values: ReadonlyMap<string, FileValue>): ReadonlyMap<string, FileValue> {
  const prefix = `${DEFAULTS}.`;
  return new Map(
    [...values]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, { raw, at }]) => [key.slice(prefix.length), { raw, at: lineOf(at) }]),
  );
}

/** `/etc/stint.yaml:7:3` → `/etc/stint.yaml:7`: a user can't edit that file, the line is enough to ask about it. */
function lineOf(at: string): string {
  return at.replace(/:\d+$/, "");
}
