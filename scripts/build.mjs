// Builds dist/: the library with its types, the runner as one file, the command line in lazily loaded pieces and the
// JSON Schema of the specification. Every part prints one line; the first that fails ends the build.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { filesBelow, ROOT, readPackage } from "./project.mjs";

const { version, optionalDependencies = {} } = readPackage();
/** They hold native parts and may be missing: loaded where they are used, from where npm has put them. */
const OPTIONAL = Object.keys(optionalDependencies);
const DIST = join(ROOT, "dist");
/** Everything is made here and moved when it is complete: a build that fails or is broken off leaves the last one in place. */
const STAGE_NAME = `dist/.building-${process.pid}`;
const STAGE = join(ROOT, STAGE_NAME);

/** Loading a module of ours changes nothing by itself: what a bundle does not use need not be in it, nor be read at each start. */
const NO_SIDE_EFFECTS = {
  name: "no-side-effects",
  setup(builder) {
    builder.onResolve({ filter: /^\.\.?\// }, async ({ path, pluginData, ...asked }) => {
      if (pluginData === NO_SIDE_EFFECTS || !asked.importer.startsWith(join(ROOT, "src"))) return undefined;
      const found = await builder.resolve(path, { ...asked, pluginData: NO_SIDE_EFFECTS });
      return { ...found, sideEffects: false };
    });
  },
};

/** Common to all bundles. `yaml` ships CommonJS for Node and ES modules for browsers; only the latter can be bundled as ESM. */
const BUNDLE = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "esm",
  alias: { yaml: "./node_modules/yaml/browser/index.js" },
  define: { __STINT_VERSION__: JSON.stringify(version) },
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
  plugins: [NO_SIDE_EFFECTS],
};

mkdirSync(STAGE, { recursive: true });
process.on("exit", () => rmSync(STAGE, { recursive: true, force: true }));
await part("library", "src/index.ts", buildLibrary);
await part("runner", "src/runner/main.ts", buildRunner);
await part("command line", "src/cli/main.ts", buildCommandLine);
await part("schema", "src/spec/json-schema.ts", buildSchema);
replaceDist();

/** Runs one part and says how it went. */
async function part(name, entry, make) {
  const begin = performance.now();
  try {
    const made = await make(entry);
    console.log(`build: ${name}: ${made} (${Math.round(performance.now() - begin)} ms)`);
  } catch (error) {
    console.error(`build: ${name} failed: ${error instanceof Error ? error.message : error}`);
    process.exit(1);
  }
}

/** The mark of a complete build, which scripts/setup.mjs looks for, goes first and comes last. */
function replaceDist() {
  rmSync(join(DIST, ".built"), { force: true });
  for (const name of readdirSync(DIST)) {
    if (!name.startsWith(".building-")) rmSync(join(DIST, name), { recursive: true });
  }
  for (const name of readdirSync(STAGE)) renameSync(join(STAGE, name), join(DIST, name));
  writeFileSync(join(DIST, ".built"), `${version}\n`);
}

function buildLibrary() {
  const tsc = spawnSync(
    process.execPath,
    [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json", "--outDir", join(STAGE, "lib")],
    {
      cwd: ROOT,
      encoding: "utf8",
    },
  );
  if (tsc.status !== 0) throw new Error(`the compiler says:\n${tsc.stdout}${tsc.stderr}`);
  const emitted = filesBelow(`${STAGE_NAME}/lib`).filter((name) => name.endsWith(".js"));
  // What esbuild's `define` does for the bundles: `typeof "0.1.0" === "undefined" ? … : "0.1.0"` stays valid code.
  for (const name of emitted) {
    const path = join(ROOT, name);
    const text = readFileSync(path, "utf8");
    if (text.includes("__STINT_VERSION__")) {
      writeFileSync(path, text.replaceAll("__STINT_VERSION__", JSON.stringify(version)));
    }
  }
  return `dist/lib, ${emitted.length} modules`;
}

/** One file with everything inlined: it is copied beside the job and must outlive every upgrade of the package. */
async function buildRunner(entry) {
  const { metafile } = await build({ ...BUNDLE, entryPoints: [entry], outfile: `${STAGE_NAME}/runner.mjs` });
  requireSelfContained(metafile);
  requireNoParser(metafile);
  const [size] = Object.values(metafile.outputs).map((output) => output.bytes);
  return `dist/runner.mjs, ${kilobytes(size)}`;
}

/** Each attempt starts the runner, and its application waits meanwhile: what reads a user's files has no business in it. */
function requireNoParser({ outputs }) {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const parsers = inputs.filter(([name, { bytesInOutput }]) => bytesInOutput > 0 && /\/(yaml|valibot)\//.test(name));
  if (parsers.length > 0) throw new Error(`the runner would load ${parsers[0][0]}: see who imports it`);
}

/** Split at each `import()`, so that `stint --version` reads the entry only. */
async function buildCommandLine(entry) {
  const { metafile } = await build({
    ...BUNDLE,
    entryPoints: [entry],
    external: OPTIONAL,
    outdir: `${STAGE_NAME}/cli`,
    splitting: true,
    chunkNames: "chunk-[name]-[hash]",
  });
  requireSelfContained(metafile);
  const main = join(STAGE, "cli/main.js");
  const text = readFileSync(main, "utf8");
  if (!text.startsWith("#!")) writeFileSync(main, `#!/usr/bin/env node\n${text}`);
  chmodSync(main, 0o755);
  return `dist/cli, ${Object.keys(metafile.outputs).length} files, ${kilobytes(eagerBytes(metafile))} of them read at once`;
}

/** The schema is made from the same source as the parser: that source is bundled, loaded from memory and asked. */
async function buildSchema(entry) {
  const { outputFiles } = await build({ ...BUNDLE, entryPoints: [entry], write: false });
  const code = Buffer.from(outputFiles[0].contents).toString("base64");
  const module = await import(`data:text/javascript;base64,${code}`);
  if (typeof module.jsonSchema !== "function") throw new Error(`${entry} exports no function jsonSchema()`);
  const schema = module.jsonSchema();
  if (schema === null || typeof schema !== "object" || Array.isArray(schema))
    throw new Error("jsonSchema() gave no object");
  writeFileSync(join(STAGE, "stint.schema.json"), `${JSON.stringify(schema, null, 2)}\n`);
  return "dist/stint.schema.json";
}

/** Nothing but Node's own modules may be left to import, and nothing may call `require`, which an ES module has not. */
function requireSelfContained(metafile) {
  for (const [name, output] of Object.entries(metafile.outputs)) {
    for (const { path, external } of output.imports) {
      if (external && !path.startsWith("node:") && !OPTIONAL.includes(path))
        throw new Error(`${name} still imports ${path}`);
    }
    if (readFileSync(join(ROOT, name), "utf8").includes("Dynamic require of")) {
      throw new Error(`${name} holds CommonJS code that calls require(): alias that package to its ES modules`);
    }
  }
}

/** Bytes of the entry and of what it imports statically. */
function eagerBytes(metafile) {
  const seen = new Set();
  const visit = (name) => {
    const output = metafile.outputs[name];
    if (output === undefined || seen.has(name)) return;
    seen.add(name);
    for (const { path, kind } of output.imports) if (kind === "import-statement") visit(path);
  };
  visit(`${STAGE_NAME}/cli/main.js`);
  return [...seen].reduce((sum, name) => sum + metafile.outputs[name].bytes, 0);
}

function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
