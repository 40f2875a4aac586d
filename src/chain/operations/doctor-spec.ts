/** Which job `doctor` is asked about: one on file, one in a spec file, or what the options alone make of one. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type JobSpec, specForTask, taskIndices } from "../../core/index.ts";
import { readSpec } from "../../journal/index.ts";
import type { FlagOption, ParsedFlags } from "../../spec/index.ts";
import { changeSpec } from "./change-spec.ts";
import { StintError } from "./errors.ts";
import { findTarget } from "./job-name.ts";
import { prepareJob } from "./prepare-job.ts";
import { requireProject, type Where } from "./project.ts";

export interface DoctorWords extends Where {
  readonly args: readonly string[];
  readonly parsed: ParsedFlags;
  /** The command's own options. */
  readonly options: readonly FlagOption[];
}

export interface AskedAbout {
  readonly spec: JobSpec;
  /** A job or a spec file was named: its checkpoint is looked at, too. */
  readonly isNamed: boolean;
}

/** Of a job with several tasks it is the one that was named, or the first. Throws StintError `usage` and `no-such-job`. */
export async function jobForDoctor(words: DoctorWords): Promise<AskedAbout> {
  const { spec, isNamed, task = null } = await askedAbout(words);
  return { spec: specForTask(spec, task ?? taskIndices(spec.tasks)[0] ?? 0), isNamed };
}

async function askedAbout(words: DoctorWords): Promise<AskedAbout & { readonly task?: number | null }> {
  const { args, parsed, options, cwd, environment } = words;
  const [name, extra] = parsed.positionals;
  if (extra !== undefined) throw new StintError("usage", `one job at a time: unexpected "${extra}"`);
  if (name === undefined) {
    const { spec } = await prepareJob({ cwd, environment, options, args: [...args, "--", "true"] });
    return { spec, isNamed: false };
  }
  if (statSync(resolve(cwd, name), { throwIfNoEntry: false })?.isFile() === true)
    return { spec: (await prepareJob({ cwd, environment, options, args })).spec, isNamed: true };
  const project = requireProject(words);
  const { place, task } = await findTarget(project, name);
  const found = await readSpec(project.folder, place);
  if (found === null) throw new StintError("no-such-job", `the submit of ${name} did not come to its end`);
  return { spec: changeSpec(found.revision.spec, parsed.given).spec, isNamed: true, task };
}
