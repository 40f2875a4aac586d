/** The two calls over Connect. The only file that loads the Connect and protobuf packages: import it lazily. */
import { type CallOptions, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { IrisError } from "./errors.ts";
import { type AnswerRules, goodAnswer } from "./http-answer.ts";
import { StatsService } from "./proto/finelog_stats_pb.ts";
import { ControllerService } from "./proto/iris_controller_pb.ts";

export interface CallSettings {
  /** Of the controller or of a mount of the statistics; methods' paths follow. */
  readonly baseUrl: string;
  readonly token: string | null;
  readonly codec: "json" | "proto";
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
}

export interface RawAnswer {
  readonly columns: readonly { readonly name: string }[];
  /** Each the JSON array of a row. */
  readonly rows: readonly string[];
}

export interface StatsAnswer {
  readonly arrowIpc: Uint8Array;
  readonly rowCount: bigint;
}

/** Throws IrisError. */
export async function rawQuery(settings: CallSettings, sql: string, signal: AbortSignal | null): Promise<RawAnswer> {
  const client = createClient(ControllerService, transportOf(settings));
  return called(settings, signal, (options) => client.executeRawQuery({ sql }, options));
}

/** Throws IrisError. */
export async function statsQuery(
  settings: CallSettings,
  sql: string,
  signal: AbortSignal | null,
): Promise<StatsAnswer> {
  const client = createClient(StatsService, transportOf(settings));
  return called(settings, signal, (options) => client.query({ sql }, options));
}

function transportOf({ baseUrl, token, codec, maxAnswerBytes }: CallSettings) {
  const rules: AnswerRules = { maxAnswerBytes, contentType: `application/${codec}` };
  const authorized: Interceptor = (next) => (request) => {
    if (token !== null) request.header.set("Authorization", `Bearer ${token}`);
    return next(request);
  };
  return createConnectTransport({
    baseUrl,
    useBinaryFormat: codec === "proto",
    interceptors: [authorized],
    fetch: (url, init) => goodAnswer(String(url), init ?? {}, rules),
  });
}

async function called<T>(
  { baseUrl, timeoutMs }: CallSettings,
  signal: AbortSignal | null,
  call: (options: CallOptions) => Promise<T>,
): Promise<T> {
  const begunMs = performance.now();
  try {
    return await call({ timeoutMs, ...(signal === null ? {} : { signal }) });
  } catch (error) {
    // Connect wraps whatever its fetch has thrown.
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
      if (cause instanceof IrisError) throw cause;
    signal?.throwIfAborted();
    if (performance.now() - begunMs >= timeoutMs - 5)
      throw new IrisError("not-reachable", `${baseUrl} gave no answer within ${timeoutMs / 1000} s`, { cause: error });
    const why = error instanceof ConnectError ? error.rawMessage : String(error);
    throw new IrisError("bad-answer", `${baseUrl} answers with what cannot be read: ${why}`, { cause: error });
  }
}
