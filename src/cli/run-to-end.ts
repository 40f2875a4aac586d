/** Attached to a chain: a moving line or plain lines, Ctrl-C, and the account at the end. */
import {
  type AttemptRow,
  attemptTable,
  type ChainStatus,
  isAtEnd,
  type Project,
  shortName,
  stopJob,
  watchJob,
} from "../chain/index.ts";
import type { JobPlace } from "../journal/index.ts";
import { attemptLine } from "./attempts-view.ts";
import type { Terminal } from "./terminal.ts";
import type { Wishes } from "./wishes.ts";
import { moment, progressText, span, windowLeft } from "./words.ts";

export interface Attached {
  readonly status: ChainStatus;
  /** What a person did meanwhile. `detached`: the terminal is lost, the chain goes on. */
  readonly ended: "by-itself" | "drained" | "cancelled" | "detached";
}

/** Follows the chain until its end, or until the terminal is lost; does what a person wishes meanwhile. */
export async function followToEnd(
  project: Project,
  place: JobPlace,
  terminal: Terminal,
  options: { readonly quiet: boolean; readonly wishes: Wishes },
): Promise<Attached> {
  const { wishes } = options;
  const watcher = new AbortController();
  wishes.act((wish) => {
    if (wish === "drain") drain(project, place, terminal);
    else watcher.abort();
  });
  const teller = new Teller(project, place, terminal, options.quiet);
  let last: ChainStatus | null = null;
  try {
    for await (const status of watchJob(project, place, { signal: watcher.signal })) {
      last = status;
      await teller.tell(status);
      if (isAtEnd(status)) break;
    }
  } finally {
    terminal.line(null);
  }
  if (last === null) throw new Error("a watch that says nothing");
  const wish = wishes.wish();
  if (wish === "cancel") {
    terminal.note(`cancelling ${shortName(project, place.id)}`);
    const { status } = await stopJob(project, place, {
      kind: "cancel",
      onWait: (why) => terminal.note(`cancel: ${why}`),
    });
    await teller.tell(status);
    return { status, ended: "cancelled" };
  }
  if (wish === "detach") return { status: last, ended: "detached" };
  return { status: last, ended: wish === "drain" && last.decision !== "finish" ? "drained" : "by-itself" };
}

function drain(project: Project, place: JobPlace, terminal: Terminal): void {
  terminal.note(`draining ${shortName(project, place.id)}: it saves, then stops; Ctrl-C again cancels it`);
  stopJob(project, place, { kind: "drain", wait: false }).catch((error: unknown) => {
    terminal.note(`cannot drain: ${error instanceof Error ? error.message : String(error)}`);
  });
}

/** Says what is new: lines for events, and a moving line between them. */
class Teller {
  readonly #project: Project;
  readonly #place: JobPlace;
  readonly #terminal: Terminal;
  readonly #quiet: boolean;
  readonly #name: string;
  #told = 0;
  #state = "";

  constructor(project: Project, place: JobPlace, terminal: Terminal, quiet: boolean) {
    this.#project = project;
    this.#place = place;
    this.#terminal = terminal;
    this.#quiet = quiet;
    this.#name = shortName(project, place.id);
  }

  async tell(status: ChainStatus): Promise<void> {
    if (this.#quiet) return;
    // Once for each wait, not for each of its seconds.
    const state = `${status.state} ${status.attempt} ${status.reason?.replace(COUNTDOWN, "")} ${status.verdict}`;
    if (status.tasks !== null) return this.#tellTasks(status, state);
    if (state !== this.#state) {
      this.#state = state;
      for (const row of await this.#newlySettled()) this.#terminal.note(attemptLine(row));
      const begun =
        status.state === "running" ? `attempt ${status.attempt} runs` : withEnd(status.reason ?? status.state);
      if (!this.#terminal.live && !isAtEnd(status)) this.#terminal.note(begun);
    }
    this.#terminal.line(isAtEnd(status) ? null : liveLine(this.#name, status));
  }

  /** How many stand how: of hundreds of tasks nobody would read every attempt. */
  #tellTasks(status: ChainStatus, state: string): void {
    const counts = status.reason ?? status.state;
    if (state !== this.#state && !this.#terminal.live && !isAtEnd(status)) this.#terminal.note(counts);
    this.#state = state;
    this.#terminal.line(isAtEnd(status) ? null : `${this.#name}  ${counts}`);
  }

  async #newlySettled(): Promise<readonly AttemptRow[]> {
    const rows = await attemptTable(this.#project, this.#place, this.#told + 1);
    const settled: AttemptRow[] = [];
    for (const row of rows) {
      // Settlements are made in order: the first open one ends what is new.
      if (row.verdict === null) break;
      settled.push(row);
      this.#told = row.number;
    }
    return settled.filter(
      (row) => row.verdict !== "never-ran" || row.withdrawn === null || !EXPECTED.has(row.withdrawn),
    );
  }
}

const COUNTDOWN = / in (\d+) s(?= \(back-off\))/;

/** A line that stays says when the wait ends. */
function withEnd(reason: string): string {
  const seconds = COUNTDOWN.exec(reason)?.[1];
  return seconds === undefined ? reason : `${reason}, at ${moment(Date.now() + Number(seconds) * 1_000)}`;
}

/** Withdrawals that are part of every chain's end. */
const EXPECTED: ReadonlySet<string> = new Set(["not-needed", "stopped", "spec-changed"]);

function liveLine(name: string, status: ChainStatus): string {
  if (status.state !== "running") return `${name}  ${status.reason ?? status.state}`;
  const nowMs = Date.now();
  const isOver = status.windowEndAtMs !== null && status.windowEndAtMs <= nowMs;
  const left = windowLeft(status, nowMs);
  const parts = [
    `attempt ${status.attempt}`,
    progressText(status),
    isOver ? "window over, saving" : left === "" ? "" : `window ${left} left`,
    status.etaMs === null ? "" : `ETA ${span(status.etaMs)}`,
  ];
  return `${name}  ${parts.filter((part) => part !== "").join("  ")}`;
}
