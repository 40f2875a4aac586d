/** One HTTP answer of a controller: read whole within a bound, and its faults as IrisErrors. */
import { IrisError, type IrisErrorCode, oneLine } from "./errors.ts";

export interface AnswerRules {
  /** A longer answer is broken off. */
  readonly maxAnswerBytes: number;
  /** What a good answer is made of, such as `application/proto`. */
  readonly contentType: string;
}

/** A good answer with its whole body. Throws IrisError. */
export async function goodAnswer(url: string, init: RequestInit, rules: AnswerRules): Promise<Response> {
  // A proxy that sends elsewhere would take the token along.
  const answer = await fetch(url, { ...init, redirect: "manual" }).catch((error) => {
    throw connectionFault(url, error, init.signal ?? null);
  });
  const path = new URL(url).pathname;
  const isGood = answer.status === 200;
  const body = await readBody(answer, path, isGood ? rules.maxAnswerBytes : FAULT_BYTES, init.signal ?? null);
  if (!isGood) throw faultOf(answer, path, new TextDecoder().decode(body));
  const type = (answer.headers.get("content-type") ?? "none").split(";")[0]?.trim().toLowerCase() ?? "";
  if (type !== rules.contentType)
    throw new IrisError(
      "bad-answer",
      `${path} answers with ${type} instead of ${rules.contentType}: this is no Iris controller, or something stands before it`,
      {
        status: 200,
        hint: NO_CONTROLLER,
      },
    );
  // Without a length and without chunks an answer that was cut off looks like a whole one.
  if (!answer.headers.has("content-length") && !/chunked/i.test(answer.headers.get("transfer-encoding") ?? ""))
    throw new IrisError(
      "bad-answer",
      `${path} does not say how long its answer is: whether it is whole nobody can know`,
      {
        status: 200,
        hint: NO_CONTROLLER,
      },
    );
  // What fetch has unpacked and measured already must not be said again.
  return new Response(body, { status: 200, headers: { "content-type": type } });
}

const FAULT_BYTES = 64 * 1024;

const NO_CONTROLLER =
  "is the URL the controller's own? A tunnel: ssh -L 10001:localhost:10000 HOST, then http://localhost:10001";

async function readBody(
  answer: Response,
  path: string,
  maxBytes: number,
  signal: AbortSignal | null,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of answer.body ?? []) {
      parts.push(part);
      bytes += part.length;
      // A fault needs no more than its beginning.
      if (bytes > maxBytes && answer.status !== 200) break;
      if (bytes > maxBytes)
        throw new IrisError("too-large", `${path} answers with more than ${Math.round(maxBytes / 1_048_576)} MiB`);
    }
  } catch (error) {
    if (error instanceof IrisError) throw error;
    if (signal?.aborted === true) throw error;
    throw new IrisError("bad-answer", `${path}: the answer was cut off after ${bytes} bytes (${causeText(error)})`, {
      status: answer.status,
      hint: "the connection broke: try again",
      cause: error,
    });
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** `{code,message}` is the controller's, `{error}` its proxy's, anything else somebody else's. */
function faultOf(answer: Response, path: string, body: string): IrisError {
  const { status } = answer;
  const { code, message } = saidIn(body);
  const retryAfter = answer.headers.get("retry-after");
  const said = message === "" ? `HTTP ${status}` : `${message} (HTTP ${status})`;
  const kind = kindOf(status, code, retryAfter !== null);
  const hint = HINTS[kind];
  return new IrisError(kind, `${path}: ${PREFIX[kind] ?? ""}${said}`, {
    status,
    ...(hint === undefined ? {} : { hint }),
    ...(kind === "busy" || kind === "not-reachable" ? { retryAfterMs: retryAfterMs(retryAfter) } : {}),
  });
}

function saidIn(body: string): { readonly code: string | null; readonly message: string } {
  try {
    const said: unknown = JSON.parse(body);
    if (said !== null && typeof said === "object") {
      const { code, message, error } = said as Readonly<Record<string, unknown>>;
      if (typeof code === "string") return { code, message: typeof message === "string" ? message : code };
      if (typeof error === "string") return { code: null, message: error };
    }
  } catch {
    // No JSON: a page of somebody else's.
  }
  const text = oneLine(body.replace(/<style[\s\S]*?<\/style>|<[^>]*>/g, " "));
  return { code: null, message: text.slice(0, 120) };
}

const BY_CODE: Readonly<Record<string, IrisErrorCode>> = {
  unauthenticated: "unauthenticated",
  permission_denied: "forbidden",
  not_found: "not-found",
  unimplemented: "not-found",
  deadline_exceeded: "deadline",
  invalid_argument: "refused",
  failed_precondition: "refused",
  out_of_range: "refused",
  internal: "refused",
  unknown: "refused",
  aborted: "refused",
  unavailable: "not-reachable",
};

const BY_STATUS: Readonly<Record<number, IrisErrorCode>> = {
  401: "unauthenticated",
  403: "forbidden",
  404: "not-found",
  405: "not-found",
  501: "not-found",
  408: "not-reachable",
  429: "busy",
  502: "not-reachable",
  503: "not-reachable",
  504: "deadline",
};

function kindOf(status: number, code: string | null, saysWhen: boolean): IrisErrorCode {
  // The statistics say so of an answer above their cap, a gateway of too many questions.
  if (code === "resource_exhausted") return saysWhen ? "busy" : "too-large";
  return (code === null ? undefined : BY_CODE[code]) ?? BY_STATUS[status] ?? "bad-answer";
}

const PREFIX: Partial<Record<IrisErrorCode, string>> = {
  unauthenticated: "wants to know who asks: ",
  forbidden: "does not let you: ",
  refused: "refuses the question: ",
  busy: "is asked too often: ",
  deadline: "took too long: ",
  "bad-answer": "gives no answer of a controller: ",
};

const HINTS: Partial<Record<IrisErrorCode, string>> = {
  unauthenticated: "put your token into a file (chmod 600) and name it in STINT_IRIS_TOKEN_FILE",
  forbidden: "raw queries need the role of an administrator",
  "not-found": NO_CONTROLLER,
  "bad-answer": NO_CONTROLLER,
  busy: "try again later",
};

/** Of a `Retry-After` in seconds or as a date; within 10 s. */
function retryAfterMs(header: string | null): number {
  const seconds = header === null || header.trim() === "" ? Number.NaN : Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header ?? "") - Date.now() : seconds * 1000;
  return Number.isFinite(ms) ? Math.min(10_000, Math.max(0, ms)) : 500;
}

const CERTIFICATE = /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO_VERIFY|ISSUER/;

function connectionFault(url: string, error: unknown, signal: AbortSignal | null): unknown {
  if (signal?.aborted === true) return error;
  const { origin } = new URL(url);
  const cause = causeText(error);
  if (CERTIFICATE.test(codeOf(error)) || /certificate/i.test(cause))
    return new IrisError("not-reachable", `the certificate of ${origin} is not accepted: ${cause}`, {
      hint: "name the authority that signed it: NODE_EXTRA_CA_CERTS=FILE.pem stint …",
      cause: error,
    });
  const isBroken = ["ECONNRESET", "UND_ERR_SOCKET", "EPIPE"].includes(codeOf(error));
  return new IrisError("not-reachable", `${origin} cannot be reached: ${cause}`, {
    hint: "is the tunnel up? ssh -L 10001:localhost:10000 HOST, then http://localhost:10001",
    // Somebody was there; a name that is not known, or a port that nobody listens on, will be so in a second, too.
    ...(isBroken ? { retryAfterMs: 200 } : {}),
    cause: error,
  });
}

/** `fetch failed` says nothing; its cause does. */
function causeText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.errors.length > 0) return causeText(error.errors[0]);
  return error.cause instanceof Error ? causeText(error.cause) : error.message || codeOf(error);
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (error.cause instanceof Error) return codeOf(error.cause);
  return "code" in error ? String(error.code) : "";
}
