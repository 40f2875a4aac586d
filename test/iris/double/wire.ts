/** Connect's messages by hand, in both codecs: independent of the packages that the client uses. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";

/** A Connect error. */
export class Fault extends Error {
  readonly code: string;
  readonly details: readonly object[];

  constructor(code: string, message: string, details: readonly object[] = []) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

export const HTTP_STATUS: Readonly<Record<string, number>> = {
  canceled: 499,
  unknown: 500,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  permission_denied: 403,
  resource_exhausted: 429,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  unauthenticated: 401,
};

export type Codec = "json" | "proto";

export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

/** `sql`, field 1 of both requests. */
export function sqlIn(body: Buffer, codec: Codec): string {
  if (codec === "json") {
    const { sql = "" } = JSON.parse(body.toString("utf8")) as { sql?: string };
    return sql;
  }
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = body[at] ?? 0;
      at += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < body.length) {
    const tag = varint();
    const length = varint();
    const value = body.subarray(at, at + length);
    at += length;
    if (tag === 0x0a) return value.toString("utf8");
  }
  return "";
}

export function rawAnswer(columns: readonly string[], rows: readonly string[], codec: Codec): Buffer {
  if (codec === "json") {
    const named = columns.map((name) => ({ name, type: "unknown" }));
    // An empty repeated field is left out.
    return Buffer.from(
      JSON.stringify({ ...(named.length === 0 ? {} : { columns: named }), ...(rows.length === 0 ? {} : { rows }) }),
    );
  }
  return Buffer.concat([
    ...columns.map((name) => field(1, Buffer.concat([field(1, Buffer.from(name)), field(2, Buffer.from("unknown"))]))),
    ...rows.map((row) => field(2, Buffer.from(row))),
  ]);
}

export function statsAnswer(arrow: Uint8Array, rowCount: number, codec: Codec): Buffer {
  if (codec === "json")
    return Buffer.from(JSON.stringify({ arrowIpc: Buffer.from(arrow).toString("base64"), rowCount: String(rowCount) }));
  return Buffer.concat([field(1, arrow), varintBytes(0x10), varintBytes(rowCount)]);
}

function field(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([varintBytes((number << 3) | 2), varintBytes(bytes.length), bytes]);
}

function varintBytes(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 0x80);
  }
}

/** Every good answer says its encoding, `identity` too. */
export function send(request: IncomingMessage, response: ServerResponse, type: string, body: Uint8Array): void {
  const isPacked = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  response.writeHead(200, { "content-type": type, "content-encoding": isPacked ? "gzip" : "identity" });
  response.end(isPacked ? gzipSync(body, { level: 1 }) : body);
}

export function sendFault(response: ServerResponse, { code, message, details }: Fault): void {
  response.writeHead(HTTP_STATUS[code] ?? 500, { "content-type": "application/json" });
  response.end(JSON.stringify({ code, message, ...(details.length === 0 ? {} : { details }) }));
}

/** The proxy's and the plain routes' own form. */
export function sendPlain(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ error }));
}
