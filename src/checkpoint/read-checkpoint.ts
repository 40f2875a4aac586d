import { resolve } from "node:path";
import type { JobSpec, Reading } from "../core/index.ts";
import { readEnd } from "./file-window.ts";
import { type GenerationMemory, readGenerations } from "./generations.ts";
import { sizeText } from "./quote-seen.ts";
import { readJson } from "./read-json.ts";
import { readNumber } from "./read-number.ts";
import { readPattern } from "./read-pattern.ts";

export type CheckpointSpec = NonNullable<JobSpec["checkpoint"]>;

/** Larger files are not one number. */
const NUMBER_BYTES = 64 * 1024;
/** Larger files would take too long to parse in the runner's one thread. */
const JSON_BYTES = 8 * 1024 * 1024;
/** A pattern is looked for near the end first, then in this much of it. */
const PATTERN_BYTES = [64 * 1024, 4 * 1024 * 1024] as const;

/**
 * Reads the progress of a task from its checkpoint. Never throws for anything the file system says: what is not there is
 * `absent`, what cannot be read or understood is `invalid` with the reason. `cwd` is the application's working folder,
 * absolute. `memory` matters for `files` only (see readGenerations); what comes back must be kept on file by the body, and
 * only by it; others pass what is on file and drop the answer's memory.
 */
export async function readCheckpoint(
  checkpoint: CheckpointSpec | null,
  cwd: string,
  memory: GenerationMemory | null = null,
): Promise<{ readonly reading: Reading; readonly memory: GenerationMemory | null }> {
  if (checkpoint === null) return { reading: { kind: "not-configured" }, memory };
  const path = resolve(cwd, checkpoint.path);
  const rule = checkpoint.progress;
  switch (rule.kind) {
    case "number":
      return { reading: await readWhole(path, NUMBER_BYTES, "one number", readNumber), memory };
    case "json":
      return {
        reading: await readWhole(path, JSON_BYTES, "a JSON checkpoint", (text) => readJson(text, rule.path)),
        memory,
      };
    case "pattern":
      return { reading: await readByPattern(path, rule.pattern), memory };
    case "files":
      return readGenerations(path, rule.glob, memory);
  }
}

async function readWhole(
  path: string,
  mostBytes: number,
  what: string,
  read: (text: string) => Reading,
): Promise<Reading> {
  const seen = await readEnd(path, mostBytes);
  if (seen.kind !== "bytes") return seen;
  if (seen.sizeBytes > mostBytes)
    return {
      kind: "invalid",
      why: `the file has ${sizeText(seen.sizeBytes)}, ${what} at most ${sizeText(mostBytes)}; use progress: {pattern: …} or {files: …}`,
    };
  return read(seen.bytes.toString("utf8"));
}

async function readByPattern(path: string, pattern: string): Promise<Reading> {
  let reading: Reading = { kind: "absent" };
  for (const mostBytes of PATTERN_BYTES) {
    const seen = await readEnd(path, mostBytes);
    if (seen.kind !== "bytes") return seen;
    const cut = seen.sizeBytes > seen.bytes.length;
    const answer = readPattern({ text: seen.bytes.toString("utf8"), cut }, pattern);
    if (!answer.searchOn) return answer.reading;
    reading = answer.reading;
  }
  if (reading.kind !== "invalid") return reading;
  return { kind: "invalid", why: `${reading.why} (only its last ${sizeText(PATTERN_BYTES[1])} are read)` };
}
