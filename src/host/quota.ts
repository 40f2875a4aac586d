/** What `quota -w -p` says of a user's quotas. */

export interface Quota {
  readonly fileSystem: string;
  readonly usedBytes: number;
  /** The lower of soft and hard limit; null: none. */
  readonly limitBytes: number | null;
  readonly files: number;
  readonly limitFiles: number | null;
}

/** One for each file system with a quota; whatever has another form is passed over. */
export function parseQuota(text: string): readonly Quota[] {
  return text.split("\n").flatMap((line) => {
    const [, fileSystem = "", blocks, soft, hard, files, softFiles, hardFiles] = ROW.exec(line) ?? [];
    if (fileSystem === "") return [];
    const kib = limitOf(soft, hard);
    return [
      {
        fileSystem,
        usedBytes: Number(blocks) * 1024,
        limitBytes: kib === null ? null : kib * 1024,
        files: Number(files),
        limitFiles: limitOf(softFiles, hardFiles),
      },
    ];
  });
}

/** Blocks of 1 KiB, then files; a `*` marks what is above. The time of grace is left out or 0 where none runs. */
const ROW =
  /^\s*(\S+)\s+(\d+)\*?\s+(\d+)\s+(\d+)(?:\s+\S*[a-z:]\S*|\s+\d+(?=(?:\s+\d+\*?){4}\s*$))?\s+(\d+)\*?\s+(\d+)\s+(\d+)(?:\s+\S+)?\s*$/i;

function limitOf(soft: string | undefined, hard: string | undefined): number | null {
  const limits = [Number(soft ?? 0), Number(hard ?? 0)].filter((limit) => limit > 0);
  return limits.length === 0 ? null : Math.min(...limits);
}
