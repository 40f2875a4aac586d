import { createHash, type Hash } from "node:crypto";
import type { Stats } from "node:fs";
import { readdir, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Reading } from "../core/index.ts";
import { failure, openRegular, readAt, systemWords } from "./file-window.ts";
import { isUnfinished, matchesGlob } from "./name-glob.ts";
import { sizeText } from "./quote-seen.ts";

/** How many generations have been counted, and what the last one looked like. Kept on file by the body of the task. */
export interface GenerationMemory {
  readonly count: number;
  readonly fingerprint: string;
}

/** Read altogether for one fingerprint, however large the files are. */
export const SAMPLE_BYTES = 64 * 1024 * 1024;
const BLOCK_BYTES = 64 * 1024;
const MOST_FILES = 20_000;
const MOST_DEPTH = 8;

interface Member {
  readonly name: string;
  readonly path: string;
  /** null: a link to a folder; only where it points counts. */
  readonly sizeBytes: number | null;
}

/**
 * Counts generations of opaque checkpoint files: whenever names, sizes or sampled content differ from what they were at
 * the last look, the number grows by one; times never count. `memory` null: nothing counted yet (where the memory was
 * lost, pass `{count: highWater, fingerprint: ""}`, so that the number does not fall behind the high-water mark). Returns
 * the memory to keep; it is unchanged when nothing was found. A match that is a folder counts with the files in it.
 */
export async function readGenerations(
  folder: string,
  glob: string,
  memory: GenerationMemory | null,
): Promise<{ readonly reading: Reading; readonly memory: GenerationMemory | null }> {
  let found: readonly Member[] | string;
  let fingerprint: string;
  try {
    const folderStats = await stat(folder);
    if (!folderStats.isDirectory())
      return {
        reading: { kind: "invalid", why: "path is not a folder; for files it names the folder they lie in" },
        memory,
      };
    found = await findMembers(folder, glob);
    if (typeof found === "string") return { reading: { kind: "invalid", why: found }, memory };
    if (found.length === 0) return { reading: { kind: "absent" }, memory };
    if (found.every((member) => !member.sizeBytes))
      return { reading: { kind: "invalid", why: `all files that match ${JSON.stringify(glob)} are empty` }, memory };
    fingerprint = await fingerprintOf(found, SAMPLE_BYTES);
  } catch (error) {
    return { reading: failure(error), memory };
  }
  const count = memory === null ? 1 : memory.fingerprint === fingerprint ? memory.count : memory.count + 1;
  return { reading: { kind: "value", value: count }, memory: { count, fingerprint } };
}

/** The text to keep on file between attempts. */
export function formatGenerations(memory: GenerationMemory): string {
  return `${JSON.stringify({ version: 1, count: memory.count, fingerprint: memory.fingerprint })}\n`;
}

/** The memory behind such a text; null when it is none (the caller then starts from the high-water mark). */
export function parseGenerations(text: string | null): GenerationMemory | null {
  try {
    const value: unknown = JSON.parse(text ?? "null");
    if (typeof value !== "object" || value === null) return null;
    const { version, count, fingerprint } = value as Record<string, unknown>;
    if (version !== 1 || typeof count !== "number" || !Number.isSafeInteger(count) || count < 0) return null;
    return typeof fingerprint === "string" ? { count, fingerprint } : null;
  } catch {
    // Torn or foreign: as good as none, and the docstring says what the caller does then.
    return null;
  }
}

/** The matching names of one folder, sorted; for a folder that is not there an empty list. */
export async function matchingNames(folder: string, glob: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []); // Asked only for a hint: an unreadable folder gives none.
  return names.filter((name) => matchesGlob(name, glob)).sort();
}

async function findMembers(folder: string, glob: string): Promise<readonly Member[] | string> {
  const members: Member[] = [];
  const names = (await readdir(folder)).filter((name) => matchesGlob(name, glob));
  const pending = names.map((name) => ({ name, path: join(folder, name), depth: 0 }));
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { name, path, depth } = next;
    const stats = await statIfThere(path);
    if (stats === null) continue;
    if (members.length >= MOST_FILES) return `more than ${MOST_FILES} files match ${JSON.stringify(glob)}`;
    if (stats.isFile()) members.push({ name, path, sizeBytes: stats.size });
    else if (stats.isDirectory()) {
      // A link to a folder inside a match (`latest -> step-500`) is not followed: it could lead round in a circle.
      if (depth > 0 && (await linkTarget(path)) !== null) members.push({ name, path, sizeBytes: null });
      else if (depth >= MOST_DEPTH) return `${name} lies more than ${MOST_DEPTH} folders deep`;
      else
        for (const child of await readdir(path))
          if (!isUnfinished(child))
            pending.push({ name: `${name}/${child}`, path: join(path, child), depth: depth + 1 });
    }
  }
  return members.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** One hash over names, sizes and sampled bytes of all files; at most `mostBytes` are read. */
export async function fingerprintOf(members: readonly Member[], mostBytes: number): Promise<string> {
  const hash = createHash("sha256");
  const share = Math.floor(mostBytes / members.length);
  const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  for (const member of members) {
    if (member.sizeBytes === null) hash.update(`${member.name}\0link\0${(await linkTarget(member.path)) ?? ""}\0`);
    else {
      hash.update(`${member.name}\0${member.sizeBytes}\0`);
      await addSamples(hash, member, member.sizeBytes, share, buffer);
    }
  }
  return hash.digest("hex");
}

async function addSamples(hash: Hash, member: Member, size: number, share: number, buffer: Buffer): Promise<void> {
  try {
    const file = await openRegular(member.path);
    if ("why" in file) return;
    try {
      for (const { position, length } of sampledBlocks(size, share))
        hash.update(await readAt(file, position, length, buffer));
    } finally {
      await file.close();
    }
  } catch (error) {
    // Removed since the folder was listed (old generations are): its name and size are in the hash, and the next look differs.
    if (failure(error).kind === "absent") return;
    throw new Error(`${member.name} (${sizeText(size)}): ${systemWords(error)}`, { cause: error });
  }
}

/** Which blocks of a file are read: all of it within its share; else head, tail and blocks evenly between them. */
export function sampledBlocks(
  sizeBytes: number,
  shareBytes: number,
): readonly { readonly position: number; readonly length: number }[] {
  const block = Math.max(1, Math.min(BLOCK_BYTES, sizeBytes <= shareBytes ? BLOCK_BYTES : Math.floor(shareBytes / 2)));
  const count = sizeBytes <= shareBytes ? Math.ceil(sizeBytes / block) : Math.max(2, Math.floor(shareBytes / block));
  const last = Math.max(0, sizeBytes - block);
  return Array.from({ length: count }, (_, i) => {
    const position = sizeBytes <= shareBytes ? i * block : Math.floor((last * i) / (count - 1));
    return { position, length: Math.min(block, sizeBytes - position) };
  });
}

async function statIfThere(path: string): Promise<Stats | null> {
  try {
    return await stat(path);
  } catch (error) {
    // Renamed away since the folder was listed, or a link that leads nowhere: it is not there.
    if (failure(error).kind === "absent") return null;
    throw error;
  }
}

async function linkTarget(path: string): Promise<string | null> {
  // EINVAL: not a link, which is the question.
  return readlink(path).catch(() => null);
}
