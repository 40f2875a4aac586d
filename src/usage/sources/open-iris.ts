/** A controller as a source of usage, by its URL. */
import { type IrisClient, openIris, type StatsWay, tokenFrom } from "../../iris/index.ts";
import { asUsage, usageErrorOf } from "../failures.ts";
import type { UsageSource } from "../source.ts";
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
export function openIrisSource(address: IrisAddress): UsageSource {
  const client = openAddress(address);
  const source = irisSource(client, client.url);
  return {
    ...source,
    nowMs: () => asUsage(source.nowMs()),
    tree: (...asked) => asUsage(source.tree(...asked)),
    tasks: (...asked) => asUsage(source.tasks(...asked)),
    attempts: (...asked) => asUsage(source.attempts(...asked)),
    spans: (...asked) => asUsage(source.spans(...asked)),
  };
}

/** Throws UsageError; its questions throw IrisError. */
export function openAddress({ environment = {}, ...address }: IrisAddress): IrisClient {
  try {
    return openIris({ ...address, token: tokenFrom(environment) });
  } catch (error) {
    throw usageErrorOf(error);
  }
}
