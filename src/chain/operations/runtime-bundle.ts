/** The runner as one file, copied beside the jobs at submit: a chain goes on with it after any upgrade of the package. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { StintError } from "./errors.ts";
import type { Project } from "./project.ts";

export interface RuntimeBundle {
  /** Where it was found. */
  readonly path: string;
  /** First 16 digits of its SHA-256: the name of its folder below `.stint/runtime`. */
  readonly name: string;
  readonly content: string;
}

/** The runner of this installation; `STINT_RUNNER` names another file. Throws StintError where there is none. */
export function findRuntime(environment: Readonly<Record<string, string | undefined>>): RuntimeBundle {
  const path = runnerPath(environment);
  if (path === null)
    throw new StintError(
      "internal",
      "the runner (dist/runner.mjs) is missing from this installation: install stint again",
    );
  const content = readFileSync(path, "utf8");
  return { path, content, name: createHash("sha256").update(content).digest("hex").slice(0, 16) };
}

/** Where the runner of this installation lies; null: nowhere. */
export function runnerPath(environment: Readonly<Record<string, string | undefined>>): string | null {
  const named = environment.STINT_RUNNER ?? "";
  if (named !== "") return existsSync(named) ? named : null;
  // The library lies in dist/lib, the command line in dist/cli, the sources beside dist: the same file from all of them.
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    for (const candidate of [join(folder, "runner.mjs"), join(folder, "dist", "runner.mjs")])
      if (existsSync(candidate)) return candidate;
  }
  return null;
}

/** Node refuses a module whose path holds a backslash, so no runner would ever start there. Throws StintError. */
export function requireRunnablePath(project: Project): void {
  if (!project.stintFolder.includes("\\")) return;
  const why = `Node.js runs no program from a path with a backslash (${project.stintFolder})`;
  throw new StintError("usage", `${why}: use another folder, or name one for the records by STINT_DIR`);
}

/** Copies the runner into the project unless it is there. Any number of processes may do it at once: the content is the name. */
export async function installRuntime(project: Project, bundle: RuntimeBundle): Promise<void> {
  const folder = join(project.stintFolder, "runtime", bundle.name);
  const path = join(folder, "runner.mjs");
  if (existsSync(path)) return;
  await project.folder.makeFolder(folder);
  await project.folder.replace(path, bundle.content);
}
