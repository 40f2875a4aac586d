// The project as the scripts see it: its root, its package.json and the files that belong to it.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const NOT_OURS = new Set([".git", ".stint", "coverage", "dist", "node_modules"]);

export function readPackage() {
  return JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
}

/** Every file of the project as a path with `/` from the root: what git would keep, or all files where git is not at hand. */
export function projectFiles() {
  const git = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const names = git.status === 0 ? git.stdout.split("\0").filter((name) => name !== "") : walk(ROOT);
  return names.filter((name) => !NOT_OURS.has(name.split("/")[0])).sort();
}

/** All files below a folder of the project, as paths with `/` from the root; empty when the folder is not there. */
export function filesBelow(folder) {
  try {
    return walk(join(ROOT, folder));
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}

function walk(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : walk(path);
    return [relative(ROOT, path).split(sep).join("/")];
  });
}
