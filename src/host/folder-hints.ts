import { watch } from "node:fs";

export interface FolderHints {
  /** Aborted at the first change of the folder's names since it was asked for; another one then takes its place. */
  signal(): AbortSignal;
  close(): void;
}

/**
 * Hints that something was made, renamed or removed in a folder. Only hints: of changes by other machines nothing is heard, and where
 * the system has no more watches to give, none come at all. Whoever waits looks by himself too, only less often.
 */
export function folderHints(paths: readonly string[]): FolderHints {
  let current = new AbortController();
  const hint = () => {
    const before = current;
    current = new AbortController();
    before.abort();
  };
  const watchers = paths.flatMap((path) => {
    try {
      // Not of "change": logs and samples that are written there say nothing.
      const watcher = watch(path, { persistent: false }, (event) => event === "rename" && hint());
      watcher.on("error", () => watcher.close());
      return [watcher];
    } catch {
      // No watches left, or not a local folder: no hints.
      return [];
    }
  });
  return {
    signal: () => current.signal,
    close() {
      for (const watcher of watchers) watcher.close();
    },
  };
}
