/** A promise that nobody waits for must not end a process that others depend on, when it fails. */

/** From here on such a failure is said, and this process goes on: Node would end it, and leave what it tends alone. */
export function surviveRejections(say: (line: string) => void): void {
  process.on("unhandledRejection", (reason) => {
    say(`went on after: ${reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)}`);
  });
}
