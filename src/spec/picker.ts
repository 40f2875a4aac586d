import type { SchedulerName } from "../core/index.ts";
import type { Raw } from "./kind.ts";
import type { Setting } from "./setting.ts";
import { fileValue, fromEnvironment, fromFlags, type Sourced, type Sources, siteValue, sourceOf } from "./sources.ts";

/** Picks the winning value of one setting after the other, and keeps where each came from and what was wrong. */
export class Picker {
  readonly sources: Sources;
  readonly origins: Record<string, string> = {};
  readonly notices: string[] = [];
  readonly errors: string[] = [];
  /** What sbatch's own names in the environment add to a list: under ours, over the file. */
  foreign: readonly Sourced[] = [];
  /** Some defaults depend on it. */
  scheduler: SchedulerName = "local";

  constructor(sources: Sources) {
    this.sources = sources;
  }

  /** The value from a source, the site's default or ours; null where there is neither, or the value is wrong (`errors` has it). */
  optional<T>(setting: Setting<T>): T | null {
    const sourced = sourceOf(setting, this.sources) ?? siteValue(setting, this.sources);
    if (sourced !== null) return this.#read(setting, sourced);
    this.origins[setting.key] = "default";
    return setting.default === null ? null : this.#defaultOf(setting);
  }

  /** As `optional`, for a setting that has a default. After an error it stands in, so that all errors are found at once. */
  required<T>(setting: Setting<T>): T {
    return this.optional(setting) ?? this.#defaultOf(setting);
  }

  /** A map whose entries are taken one by one: those of the flags over those of the file. Origins as `key.NAME`. */
  merged(setting: Setting<Readonly<Record<string, string>>>): Readonly<Record<string, string>> {
    let all: Readonly<Record<string, string>> = {};
    for (const sourced of [fileValue(setting, this.sources), fromFlags(setting, this.sources)]) {
      if (sourced === null) continue;
      const entries = this.#read(setting, sourced) ?? {};
      for (const name of Object.keys(entries)) this.origins[`${setting.key}.${name}`] = sourced.origin;
      all = { ...all, ...entries };
    }
    delete this.origins[setting.key];
    return all;
  }

  /** A list to which every source adds, the strongest last: sbatch takes the last of two that contradict. */
  joined(setting: Setting<readonly string[]>): readonly string[] {
    const all: string[] = [];
    const origins: string[] = [];
    for (const sourced of this.listed(setting)) {
      all.push(...(this.#read(setting, sourced) ?? []));
      origins.push(sourced.origin);
    }
    this.origins[setting.key] = origins.length === 0 ? "default" : origins.join(" + ");
    return all;
  }

  /** All sources of a list, the strongest last. */
  listed(setting: Setting<unknown>): readonly Sourced[] {
    const [site, file, ...own] = [siteValue, fileValue, fromEnvironment, fromFlags].map((from) =>
      from(setting, this.sources),
    );
    return [site, file, ...this.foreign, ...own].filter((one) => one != null);
  }

  /** Whether the user gives this key. */
  given(setting: Setting<unknown>): boolean {
    return sourceOf(setting, this.sources) !== null;
  }

  #read<T>(setting: Setting<T>, sourced: Sourced): T | null {
    const answer = setting.kind.read(sourced.raw);
    if (!answer.ok) {
      this.errors.push(`${sourced.label}: ${answer.error}`);
      return null;
    }
    this.origins[setting.key] = sourced.origin;
    if (sourced.notice !== null) this.notices.push(sourced.notice);
    return answer.value;
  }

  #defaultOf<T>(setting: Setting<T>): T {
    const text = typeof setting.default === "object" ? setting.default?.[this.scheduler] : setting.default;
    const raw: Raw = { form: "text", text: text ?? "" };
    const answer = setting.kind.read(raw);
    if (!answer.ok) throw new Error(`the default of ${setting.key} cannot be read: ${answer.error}`);
    return answer.value;
  }
}
