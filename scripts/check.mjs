// Everything that is checked without running the tests. One line a check; all run, whatever the others say.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkFailureStories } from "./failure-stories.mjs";
import { checkImports } from "./imports.mjs";
import { projectFiles, ROOT, readPackage } from "./project.mjs";
import { checkProto } from "./proto.mjs";

const CHECKS = [
  ["format and lint", () => program("@biomejs/biome/bin/biome", ["ci", "--colors=off", "."])],
  ["types", () => program("typescript/bin/tsc", ["--noEmit", "-p", "tsconfig.json"])],
  ["unused code", () => program("knip/bin/knip.js", ["--no-progress", "--no-config-hints"])],
  ["imports", checkImports],
  ["failure stories", checkFailureStories],
  ["generated code", checkProto],
  ["words", words],
  ["links", links],
  ["package", packagePaths],
];

let failed = 0;
for (const [name, check] of CHECKS) {
  const problems = await problemsOf(check);
  console.log(`check: ${name}: ${problems.length === 0 ? "ok" : "FAILED"}`);
  for (const problem of problems) console.log(problem.replace(/^/gm, "  "));
  if (problems.length > 0) failed += 1;
}
console.log(failed === 0 ? "check: all ok" : `check: ${failed} of ${CHECKS.length} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** A check that breaks off has found a problem, too. */
async function problemsOf(check) {
  try {
    return (await check()).problems;
  } catch (error) {
    return [`could not be made: ${error instanceof Error ? error.message : error}`];
  }
}

/** Runs an installed tool with this Node; its output is the problem when it fails. */
function program(script, args) {
  return new Promise((done) => {
    const child = spawn(process.execPath, [join(ROOT, "node_modules", script), ...args], { cwd: ROOT });
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (output += data));
    child.on("error", (error) => done({ problems: [error.message] }));
    child.on("close", (code) => done({ problems: code === 0 ? [] : [output.trim() || `ended with ${code}`] }));
  });
}

/** Nothing may tie the project to one machine or one network. The words are put together here so that this file passes too. */
function words() {
  const unwanted = [
    "/wo" + "rk/",
    "/ro" + "ot/",
    "registry" + ".npmjs",
    "deb" + ".debian",
    ".lib" + "rary",
    "sub" + "agent",
  ];
  const problems = projectFiles().flatMap((name) => {
    const text = readText(name);
    return unwanted.filter((word) => text.includes(word)).map((word) => `${name}: contains "${word}"`);
  });
  return { problems };
}

/** Every relative link of every page leads to a file of the project. */
function links() {
  const files = new Set(projectFiles());
  const pages = [...files].filter((name) => name.endsWith(".md"));
  const problems = pages.flatMap((page) =>
    targetsOf(readText(page))
      .filter((target) => !/^([a-z]+:|#)/i.test(target))
      .map((target) => decodeURI(target.split("#")[0]))
      .filter((target) => !isThere(files, join(dirname(page), target)))
      .map((target) => `${page}: ${target} is not there`),
  );
  return { problems };
}

function targetsOf(markdown) {
  const prose = markdown.replace(/^(```|~~~)[\s\S]*?^\1/gm, "").replace(/`[^`\n]*`/g, "");
  const inline = [...prose.matchAll(/\]\(\s*<?([^)>\s]+)>?[^)]*\)/g)].map((match) => match[1]);
  const named = [...prose.matchAll(/^\s*\[[^\]]+\]:\s*(\S+)/gm)].map((match) => match[1]);
  return [...inline, ...named];
}

function isThere(files, path) {
  const name = path.replaceAll("\\", "/").replace(/\/$/, "");
  return files.has(name) || [...files].some((file) => file.startsWith(`${name}/`));
}

/** What package.json promises (bin, exports, files) exists after a build. */
function packagePaths() {
  const { bin, exports, files } = readPackage();
  const promised = [...pathsIn(bin), ...pathsIn(exports), ...files];
  return {
    problems: promised
      .filter((path) => !existsSync(join(ROOT, path)))
      .map((path) => `package.json: ${path} is not there`),
  };
}

function pathsIn(value) {
  return typeof value === "string" ? [value] : Object.values(value).flatMap(pathsIn);
}

/** A file that git still lists may be gone from the folder; it then holds nothing. */
function readText(name) {
  return existsSync(join(ROOT, name)) ? readFileSync(join(ROOT, name), "utf8") : "";
}
