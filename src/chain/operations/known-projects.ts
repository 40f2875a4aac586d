/**
 * Which project folders this user has submitted from: one small file each in `$XDG_STATE_HOME/stint/projects`, for looking at
 * all of them at once. Nothing else depends on it: a project that is not in it is found from its own folder as ever.
 */
import { createHash } from "node:crypto";
import { isAbsolute, join } from "node:path";
import { blockingFolder } from "../../host/index.ts";
import { findProject, type Project, projectAt, type Where } from "./project.ts";

export interface StaleProject {
  readonly stintFolder: string;
  /** The file that names it, to be removed by whoever knows that the project is gone for good. */
  readonly file: string;
}

export interface KnownProjects {
  /** By path; that of the current folder is among them, on file or not. */
  readonly projects: readonly Project[];
  /** On file and not there, at least now: its file system may only be away. */
  readonly stale: readonly StaleProject[];
}

/** All projects that are known. Throws FolderError where the list is there and cannot be read. */
export async function knownProjects(where: Where): Promise<KnownProjects> {
  const here = findProject(where);
  const found = new Map<string, Project>(here === null ? [] : [[here.stintFolder, here]]);
  const stale: StaleProject[] = [];
  const folder = registryOf(where.environment);
  const names = folder === null ? [] : ((await files.list(folder)) ?? []);
  for (const name of names.filter((one) => NAME.test(one))) {
    const file = join(folder ?? "", name);
    const stintFolder = (await files.read(file))?.replace(/\n$/, "") ?? "";
    if (!isAbsolute(stintFolder) || found.has(stintFolder)) continue;
    const project = projectAt(stintFolder);
    if (project === null) stale.push({ stintFolder, file });
    else found.set(stintFolder, project);
  }
  return { projects: [...found.values()].sort((a, b) => (a.stintFolder < b.stintFolder ? -1 : 1)), stale };
}

/** Puts a project on the list. Never throws: a home that cannot be written must not keep a job from being submitted. */
export async function rememberProject({ environment }: Where, stintFolder: string): Promise<void> {
  const folder = registryOf(environment);
  if (folder === null) return;
  const name = createHash("sha256").update(stintFolder).digest("hex").slice(0, 16);
  const file = join(folder, name);
  try {
    if ((await files.read(file)) === `${stintFolder}\n`) return;
    await files.makeFolder(folder);
    await files.replace(file, `${stintFolder}\n`);
  } catch {
    // `status --everywhere` will not name it, and that is all.
  }
}

const NAME = /^[0-9a-f]{16}$/;
const files = blockingFolder();

/** null: neither XDG_STATE_HOME nor HOME says where. The rules of XDG: a relative path counts as none. */
function registryOf(environment: Where["environment"]): string | null {
  const state = environment.XDG_STATE_HOME ?? "";
  if (isAbsolute(state)) return join(state, "stint", "projects");
  const home = environment.HOME ?? "";
  return isAbsolute(home) ? join(home, ".local", "state", "stint", "projects") : null;
}
