// Checks the import table of docs/design.md §3: which room of src/ may import which other room, always through its face
// (index.ts); which packages a room may use; and that no two files need each other at run time.
// Usable alone: `node scripts/imports.mjs`.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { pathToFileURL } from "node:url";
import { filesBelow, ROOT, readPackage } from "./project.mjs";

/** Each room may also import what the rooms named here may import. */
const MAY_IMPORT = {
  core: [],
  spec: ["core"],
  host: ["core"],
  slurm: ["core"],
  journal: ["core", "host"],
  checkpoint: ["core", "host"],
  schedulers: ["core", "host", "slurm"],
  chain: ["core", "spec", "journal", "checkpoint", "schedulers"],
  runner: ["chain", "host", "checkpoint"],
  iris: ["core"],
  query: ["core"],
  usage: ["core", "journal", "slurm", "iris", "query"],
  charts: ["core"],
  report: ["usage", "charts"],
  rehearse: ["chain", "checkpoint"],
  web: ["charts", "core"],
};
const ROOMS = [...Object.keys(MAY_IMPORT), "server", "cli"];
MAY_IMPORT.server = ROOMS.filter((room) => room !== "cli" && room !== "server");
MAY_IMPORT.cli = ROOMS.filter((room) => room !== "cli");
/** Files directly in src/ are the package's own face. */
const PACKAGE_FACE = "(package)";
MAY_IMPORT[PACKAGE_FACE] = ROOMS.filter((room) => room !== "cli");

/** The pure core uses neither Node nor packages. */
const NO_PACKAGES = new Set(["core"]);
/** These are slow to load: one file of src/ imports each, lazily used by all others. */
const HEAVY = [/^@duckdb\//, /^@resvg\//, /^@bufbuild\//, /^@connectrpc\//, /^echarts($|\/)/];
/** Generated code imports its own run time. */
const GENERATED = "src/iris/proto/";
/** Read by scripts/build.mjs only, so it may use what only the build installs. */
const BUILD_ONLY = new Set(["src/spec/json-schema.ts"]);

/** Returns one line for each broken rule, in the order of the files. */
export function checkImports() {
  const sources = filesBelow("src")
    .filter((name) => /\.tsx?$/.test(name))
    .sort();
  const files = sources.map((name) => ({ name, imports: importsOf(readFileSync(join(ROOT, name), "utf8")) }));
  return {
    files: files.length,
    problems: [
      ...files.flatMap((file) => file.imports.flatMap((one) => problemsOf(file.name, one))),
      ...heavyLoaders(files),
      ...cycles(files),
    ],
  };
}

/** The specifiers of a TypeScript file, each with whether it exists for types alone. */
export function importsOf(text) {
  // Line comments and block comments that stand on their own lines are taken away; formatted code has imports at line starts.
  const code = text.replace(/^\s*\/\*[\s\S]*?\*\//gm, "").replace(/^\s*\/\/.*$/gm, "");
  const found = [];
  for (const match of code.matchAll(
    /^(?:import|export)\s+(type\s+)?([\w$*{][^;"'`=]*?)\s*\bfrom\s*["']([^"']+)["']/gm,
  )) {
    found.push({ specifier: match[3], typeOnly: match[1] !== undefined });
  }
  for (const match of code.matchAll(/^import\s*["']([^"']+)["']/gm))
    found.push({ specifier: match[1], typeOnly: false });
  for (const match of code.matchAll(/(?<![\w$.])import\(\s*["']([^"']+)["']\s*\)(\s*\.\s*[A-Z])?/g)) {
    // `import("./x.ts").Thing` in a type, `await import("./x.ts")` in code; only the latter loads the file, and late.
    found.push({ specifier: match[1], typeOnly: match[2] !== undefined, late: true });
  }
  return found;
}

function problemsOf(name, { specifier, typeOnly }) {
  if (specifier.startsWith("node:")) {
    return NO_PACKAGES.has(roomOf(name)) && !isTest(name)
      ? [`${name}: ${roomOf(name)} is pure, it may not import ${specifier}`]
      : [];
  }
  if (!specifier.startsWith(".")) return packageProblems(name, specifier, typeOnly);
  const target = resolve(name, specifier);
  if (!target.startsWith("src/")) {
    return target === "package.json" || isTest(name) ? [] : [`${name}: imports ${specifier}, outside of src/`];
  }
  if (!existsSync(join(ROOT, target))) return [`${name}: imports ${specifier}, which is not there`];
  if (isTest(target) && !isTest(name)) return [`${name}: imports the test ${specifier}`];
  const [from, to] = [roomOf(name), roomOf(target)];
  if (from === to) {
    // Through its own face a file would load the whole room, itself included.
    return target === `src/${to}/index.ts` && !isTest(name) ? [`${name}: imports its own room's face`] : [];
  }
  if (!ROOMS.includes(from) && from !== PACKAGE_FACE) return [`${name}: the room ${from} is not in the table`];
  if (!reachable(from).has(to)) return [`${name}: ${from} may not import ${to} (${specifier})`];
  if (target !== `src/${to}/index.ts`) return [`${name}: imports ${specifier} past the face src/${to}/index.ts`];
  return [];
}

function packageProblems(name, specifier, typeOnly) {
  if (isTest(name)) return [];
  const wanted = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  if (NO_PACKAGES.has(roomOf(name))) return [`${name}: ${roomOf(name)} is pure, it may not import ${specifier}`];
  const { dependencies = {}, optionalDependencies = {}, devDependencies = {} } = readPackage();
  if (wanted in dependencies || wanted in optionalDependencies) return [];
  if (wanted in devDependencies && (typeOnly || BUILD_ONLY.has(name))) return [];
  return [`${name}: ${wanted} is no dependency of the package (Node's own modules are written node:…)`];
}

function heavyLoaders(files) {
  return HEAVY.flatMap((pattern) => {
    const loaders = files
      .filter(({ name }) => !name.startsWith(GENERATED) && !isTest(name))
      .filter(({ imports }) => imports.some((one) => pattern.test(one.specifier) && !one.typeOnly))
      .map(({ name }) => name);
    return loaders.length > 1 ? [`${pattern.source} has more than one loader: ${loaders.join(", ")}`] : [];
  });
}

/** Rings of files that load each other at once. Imports of types alone vanish and late ones happen after loading. */
function cycles(files) {
  const edges = new Map(
    files.map(({ name, imports }) => [
      name,
      imports
        .filter((one) => !one.typeOnly && !one.late && one.specifier.startsWith("."))
        .map((one) => resolve(name, one.specifier)),
    ]),
  );
  const done = new Set();
  const found = [];
  const visit = (name, path) => {
    const at = path.indexOf(name);
    if (at >= 0) {
      found.push(`cycle: ${[...path.slice(at), name].join(" → ")}`);
      return;
    }
    if (done.has(name)) return;
    for (const next of edges.get(name) ?? []) visit(next, [...path, name]);
    done.add(name);
  };
  for (const { name } of files) visit(name, []);
  return found;
}

function reachable(room, seen = new Set()) {
  for (const next of MAY_IMPORT[room] ?? []) {
    if (seen.has(next)) continue;
    seen.add(next);
    reachable(next, seen);
  }
  return seen;
}

function roomOf(name) {
  const parts = name.split("/");
  return parts.length > 2 ? parts[1] : PACKAGE_FACE;
}

function resolve(name, specifier) {
  return posix.normalize(posix.join(dirname(name), specifier));
}

function isTest(name) {
  return /\.test\.tsx?$/.test(name);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { files, problems } = checkImports();
  console.log(problems.length === 0 ? `imports: ${files} files keep to the table` : problems.join("\n"));
  process.exitCode = problems.length === 0 ? 0 : 1;
}
