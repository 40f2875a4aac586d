/** A client of one Iris controller: its raw queries, and the statistics behind it by whichever way is there. */
import { controllerUrl } from "./address.ts";
import type { StatsRows } from "./arrow-rows.ts";
import type { CallSettings } from "./connect-calls.ts";
import { IrisError } from "./errors.ts";
import { decodeRows, type RawRows } from "./raw-rows.ts";

export type StatsWay = "proxy" | "direct";

export interface IrisClientOptions {
  /** Of the controller: http or https. */
  readonly url: string;
  readonly token?: string | null;
  /** What messages are written in; default proto. */
  readonly codec?: "json" | "proto";
  /** Default auto: through the controller's proxy, and where it has none through its own mount. */
  readonly stats?: "auto" | StatsWay;
  /** For one answer; default 60 s, of the statistics 120 s. */
  readonly timeoutMs?: number;
  readonly maxAnswerBytes?: number;
  readonly signal?: AbortSignal;
}

/** All throw IrisError. */
export interface IrisClient {
  readonly url: string;
  rawQuery(sql: string): Promise<RawRows>;
  statsQuery(sql: string): Promise<StatsRows>;
}

/** Paths below the controller's URL. The proxy knows the log server by this name. */
const STATS_PATHS: Readonly<Record<StatsWay, string>> = { proxy: "/proxy/system.log-server", direct: "" };

const MAX_ANSWER_BYTES = 512 * 1024 * 1024;

/** Asks nothing yet. Throws IrisError `usage` for an address that cannot be used. */
export function openIris(options: IrisClientOptions): IrisClient {
  const { token = null, codec = "proto", stats = "auto", maxAnswerBytes = MAX_ANSWER_BYTES, signal = null } = options;
  const url = controllerUrl(options.url);
  const settings = (path: string, timeoutMs: number): CallSettings => ({
    baseUrl: `${url}${path}`,
    token,
    codec,
    timeoutMs: options.timeoutMs ?? timeoutMs,
    maxAnswerBytes,
  });
  let way: StatsWay | null = stats === "auto" ? null : stats;

  const statsBy = async (path: StatsWay, sql: string): Promise<StatsRows> => {
    const { statsQuery } = await import("./connect-calls.ts");
    const { decodeArrow } = await import("./arrow-rows.ts");
    const { arrowIpc, rowCount } = await again(signal, () =>
      statsQuery(settings(STATS_PATHS[path], 120_000), sql, signal),
    );
    const rows = decodeArrow(arrowIpc, rowCount);
    way = path;
    return rows;
  };

  return {
    url,

    async rawQuery(sql) {
      const { rawQuery } = await import("./connect-calls.ts");
      const { columns, rows } = await again(signal, () => rawQuery(settings("", 60_000), sql, signal));
      return decodeRows(
        columns.map(({ name }) => name),
        rows,
      );
    },

    async statsQuery(sql) {
      if (way !== null) return statsBy(way, sql);
      try {
        return await statsBy("proxy", sql);
      } catch (error) {
        if (!isNotThere(error)) throw error;
      }
      try {
        return await statsBy("direct", sql);
      } catch (error) {
        if (!isNotThere(error)) throw error;
        throw new IrisError("not-found", `${url} leads to no statistics, neither through /proxy nor directly`, {
          hint: "an older `iris cluster dashboard-proxy` forwards neither: use a tunnel to the controller itself",
          cause: error,
        });
      }
    },
  };
}

function isNotThere(error: unknown): boolean {
  return error instanceof IrisError && error.code === "not-found";
}

const TRIES = 3;

/** Only what the server, or a connection that broke before any answer, says is passing is tried again, after a while. */
async function again<T>(signal: AbortSignal | null, call: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof IrisError) || error.retryAfterMs === null || tried === TRIES) throw error;
      await pause(Math.max(error.retryAfterMs, 200 * tried), signal);
    }
  }
}

function pause(ms: number, signal: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(done);
      reject(signal.reason);
    });
  });
}
