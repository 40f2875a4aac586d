/** An Iris controller with its finelog over real HTTP on this machine: transport and data are doubled, the engines are theirs. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Controller } from "./controller.ts";
import { Finelog } from "./finelog.ts";
import type { Era, IrisRows } from "./rows.ts";
import { bodyOf, type Codec, Fault, rawAnswer, send, sendFault, sendPlain, sqlIn, statsAnswer } from "./wire.ts";

export interface DoubleOptions {
  readonly era?: Era;
  /** Null: every caller is an administrator, as behind a tunnel. */
  readonly auth?: { readonly token: string; readonly isAdmin: boolean } | null;
  /** Ways to the statistics that are there; default both. */
  readonly stats?: readonly ("proxy" | "direct")[];
  readonly deadlineMs?: number;
  readonly capBytes?: number;
  /** Before everything else; true: it has answered. */
  readonly intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export interface Asked {
  readonly path: string;
  readonly sql: string;
  readonly headers: IncomingMessage["headers"];
}

export interface Double {
  readonly url: string;
  readonly asked: readonly Asked[];
  readonly controller: Controller;
  insert(rows: IrisRows): Promise<void>;
  close(): Promise<void>;
}

export async function startDouble(options: DoubleOptions = {}): Promise<Double> {
  const { era = "may-2026", deadlineMs, capBytes } = options;
  const controller = new Controller(era);
  const finelog = await Finelog.open({
    era,
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(capBytes === undefined ? {} : { capBytes }),
  });
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    if (options.intercept?.(request, response) === true) return;
    answer(request, response).catch((error) =>
      sendFault(response, error instanceof Fault ? error : new Fault("internal", String(error))),
    );
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://double").pathname;
    if (path === "/health") return send(request, response, "application/json", Buffer.from('{"status":"ok"}'));
    const proxied = /^\/proxy\/([^/]+)(\/.*)?$/.exec(path);
    if (proxied !== null) return throughProxy(request, response, proxied[1] ?? "", proxied[2]);
    if (path === CONTROLLER) return call(request, response, "ExecuteRawQuery", rawQuery);
    if (path === STATS && has("direct")) return call(request, response, "Query", statsQuery);
    response.writeHead(404);
    response.end();
  }

  function has(way: "proxy" | "direct"): boolean {
    return (options.stats ?? ["proxy", "direct"]).includes(way);
  }

  async function throughProxy(
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
    rest: string | undefined,
  ) {
    if (rest === undefined) {
      response.writeHead(307, { location: `/proxy/${name}/` });
      response.end();
      return;
    }
    // `.` stands for `/`; with a leading slash first.
    if (name.replaceAll(".", "/") !== "system/log-server" || !has("proxy"))
      return sendPlain(response, 404, `No endpoint '${name}'`);
    if (!isKnown(request)) return sendPlain(response, 401, "authentication required");
    if (rest === STATS) return call(request, response, "Query", statsQuery);
    response.writeHead(404);
    response.end();
  }

  function isKnown({ headers }: IncomingMessage): boolean {
    const { auth = null } = options;
    return auth === null || headers.authorization === `Bearer ${auth.token}`;
  }

  async function call(
    request: IncomingMessage,
    response: ServerResponse,
    method: string,
    run: (sql: string, codec: Codec) => Promise<Buffer>,
  ): Promise<void> {
    if (request.method !== "POST") {
      response.writeHead(405, { allow: "POST" });
      response.end();
      return;
    }
    const codec = codecOf(request);
    if (codec === null) {
      response.writeHead(415, { "accept-post": "application/json, application/proto" });
      response.end();
      return;
    }
    if (!isKnown(request)) throw new Fault("unauthenticated", "authentication required");
    if (method === "ExecuteRawQuery" && options.auth?.isAdmin === false)
      throw new Fault("permission_denied", "admin role required for raw queries");
    const sql = sqlIn(await bodyOf(request), codec);
    asked.push({ path: request.url ?? "", sql, headers: request.headers });
    send(request, response, `application/${codec}`, await run(sql, codec));
  }

  async function rawQuery(sql: string, codec: Codec): Promise<Buffer> {
    const { columns, rows } = controller.query(sql);
    return rawAnswer(columns, rows, codec);
  }

  async function statsQuery(sql: string, codec: Codec): Promise<Buffer> {
    const { arrow, rowCount } = await finelog.query(sql);
    return statsAnswer(arrow, rowCount, codec);
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    controller,
    async insert(rows) {
      controller.insert(rows);
      await finelog.insert(rows.samples);
    },
    async close() {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
      finelog.close();
      controller.database.close();
    },
  };
}

const CONTROLLER = "/iris.cluster.ControllerService/ExecuteRawQuery";
const STATS = "/finelog.stats.StatsService/Query";

function codecOf({ headers }: IncomingMessage): Codec | null {
  const type = String(headers["content-type"] ?? "")
    .split(";")[0]
    ?.trim();
  if (type === "application/json") return "json";
  return type === "application/proto" ? "proto" : null;
}
