/** A controller as a source of usage, by its URL. */
import { IrisError, type IrisErrorCode, openIris, type StatsWay, tokenFrom } from "../../iris/index.ts";
import { UsageError, type UsageErrorCode, type UsageSource } from "../source.ts";
import { irisSource } from "./iris.ts";

export interface IrisAddress {
  readonly url: string;
  /** The way to its statistics; default auto. */
  readonly stats?: "auto" | StatsWay;
  readonly codec?: "json" | "proto";
  readonly timeoutMs?: number;
  readonly maxAnswerBytes?: number;
  /** STINT_IRIS_TOKEN_FILE, STINT_IRIS_TOKEN. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
}

/** Asks nothing yet. Throws UsageError, as the source does. */
export function openIrisSource({ environment = {}, ...address }: IrisAddress): UsageSource {
  const client = asUsage(() => openIris({ ...address, token: tokenFrom(environment) }));
  const source = irisSource(client, client.url);
  return {
    ...source,
    nowMs: () => asUsageLater(source.nowMs()),
    tree: (...asked) => asUsageLater(source.tree(...asked)),
    tasks: (...asked) => asUsageLater(source.tasks(...asked)),
    attempts: (...asked) => asUsageLater(source.attempts(...asked)),
    spans: (...asked) => asUsageLater(source.spans(...asked)),
  };
}

const CODES: Readonly<Record<IrisErrorCode, UsageErrorCode>> = {
  usage: "usage",
  "not-reachable": "not-reachable",
  unauthenticated: "refused",
  forbidden: "refused",
  "not-found": "bad-answer",
  busy: "not-reachable",
  refused: "refused",
  deadline: "not-reachable",
  "too-large": "bad-answer",
  "bad-answer": "bad-answer",
};

export function usageErrorOf(error: unknown): unknown {
  if (!(error instanceof IrisError)) return error;
  const { code, message, hint } = error;
  return new UsageError(CODES[code], message, { ...(hint === null ? {} : { hint }), cause: error });
}

function asUsage<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw usageErrorOf(error);
  }
}

async function asUsageLater<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw usageErrorOf(error);
  }
}
