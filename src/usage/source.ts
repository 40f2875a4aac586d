/** Where usage is read from. A source tells rows; what they add up to is the core's affair. */
import type { AttemptTimes, JobTree, SampleSpan, TaskTimes } from "../core/index.ts";

export type SourceKind = "journal" | "iris" | "parquet";

export interface AsOf {
  /** Only what was known at this instant counts: later starts and ends are not yet, later samples are left out. */
  readonly asOfMs: number;
}

export interface SpanOptions extends AsOf {
  /** Also integrate over the single samples, which costs more. */
  readonly integral: boolean;
}

export interface UsageSource {
  readonly kind: SourceKind;
  /** For people: a URL, a folder. */
  readonly name: string;
  /** The number that it gives to a task's first attempt. */
  readonly firstAttempt: 0 | 1;
  /** Now by the source's own clock. */
  nowMs(): Promise<number>;
  /** The root and all jobs below it. Throws UsageError `no-such-job`. */
  tree(root: string, at: AsOf): Promise<JobTree>;
  /** Of all jobs of the tree, inner ones too, in any order. */
  tasks(tree: JobTree, at: AsOf): Promise<readonly TaskTimes[]>;
  attempts(tree: JobTree, at: AsOf): Promise<readonly AttemptTimes[]>;
  /** One row an attempt that has samples; also of tasks and jobs below the root that nobody else knows. */
  spans(tree: JobTree, how: SpanOptions): Promise<readonly SampleSpan[]>;
  close(): Promise<void>;
}

export type UsageErrorCode =
  | "usage"
  | "no-such-job"
  | "not-reachable"
  /** It answers, and not as an Iris controller does; or the answer is cut short. */
  | "bad-answer"
  | "refused"
  /** The statement that was given cannot be answered. */
  | "refused-sql"
  /** An optional package is not installed. */
  | "missing-package"
  | "file";

/** What went wrong, in one line for a person. */
export class UsageError extends Error {
  readonly code: UsageErrorCode;
  /** What to do next. */
  readonly hint: string | null;

  constructor(
    code: UsageErrorCode,
    message: string,
    options: { readonly hint?: string; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "UsageError";
    this.code = code;
    this.hint = options.hint ?? null;
  }
}
