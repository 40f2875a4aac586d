// Generates src/iris/proto/*_pb.ts from the .proto files beside them. `--check` changes nothing and fails where the committed
// code is not what would be generated.
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "./project.mjs";

const PROTO = join(ROOT, "src/iris/proto");
const BIN = join(ROOT, "node_modules/.bin");

/** One line for each generated file that is not as it would be generated. */
export async function checkProto() {
  const folder = mkdtempSync(join(tmpdir(), "stint-proto-"));
  try {
    cpSync(PROTO, folder, { recursive: true, filter: (name) => !name.endsWith("_pb.ts") });
    await generate(folder);
    const [made, there] = [generatedIn(folder), generatedIn(PROTO)];
    const names = [...new Set([...made.keys(), ...there.keys()])];
    const problems = names
      .filter((name) => made.get(name) !== there.get(name))
      .map((name) => `src/iris/proto/${name} is not what its .proto file gives: node scripts/proto.mjs`);
    return { problems };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function generatedIn(folder) {
  const names = readdirSync(folder).filter((name) => name.endsWith("_pb.ts"));
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

function generate(folder) {
  return new Promise((done, fail) => {
    const child = spawn(join(BIN, "buf"), ["generate"], {
      cwd: folder,
      env: { ...process.env, PATH: `${BIN}${delimiter}${process.env.PATH}`, BUF_CACHE_DIR: join(folder, ".cache") },
      stdio: ["ignore", "inherit", "inherit"],
    });
    child.on("error", fail);
    child.on("close", (code) => (code === 0 ? done() : fail(new Error(`buf ended with ${code}`))));
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  if (process.argv.includes("--check")) {
    const { problems } = await checkProto();
    for (const problem of problems) console.error(problem);
    process.exitCode = problems.length === 0 ? 0 : 1;
  } else {
    await generate(PROTO);
    rmSync(join(PROTO, ".cache"), { recursive: true, force: true });
  }
}
