/** Controllers that do not answer as they should: one clear line each, and nothing half told. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { openIrisSource, UsageError, type UsageErrorCode, usage } from "../../src/usage/index.ts";
import { newProject } from "../cli/stint.ts";
import { type Double, type DoubleOptions, startDouble } from "./double/start-double.ts";
import { goldenRows } from "./golden/data.ts";
import { ROOT } from "./golden/table.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(listener: RequestListener, server: Server = createServer(listener)): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}

async function doubleWith(options: DoubleOptions): Promise<Double> {
  const double = await startDouble(options);
  closing.push(() => double.close());
  await double.insert(goldenRows());
  return double;
}

interface Failed {
  readonly code: UsageErrorCode;
  readonly message: string;
}

async function failure(url: string, more: Partial<Parameters<typeof openIrisSource>[0]> = {}): Promise<Failed> {
  const asked = usage({ source: openIrisSource({ url, timeoutMs: 2_000, ...more }), job: ROOT });
  const error = await asked.then(() => null).catch((caught: unknown) => caught);
  if (!(error instanceof UsageError)) throw new Error(`expected a UsageError, got ${error}`);
  expect(error.message).not.toContain("\n");
  return { code: error.code, message: error.message };
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): RequestListener =>
  (request, response) => {
    request.resume();
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };

describe("a controller that says no", () => {
  it.each<[string, RequestListener, UsageErrorCode, RegExp]>([
    [
      "401 of Connect",
      json(401, { code: "unauthenticated", message: "authentication required" }),
      "refused",
      /wants to know who asks: authentication required \(HTTP 401\)/,
    ],
    ["401 of a plain route", json(401, { error: "authentication required" }), "refused", /HTTP 401/],
    [
      "403",
      json(403, { code: "permission_denied", message: "admin role required for raw queries" }),
      "refused",
      /admin role required/,
    ],
    ["404 of the proxy", json(404, { error: "No endpoint 'system.log-server'" }), "bad-answer", /No endpoint/],
    [
      "404 of somebody else",
      (_, response) =>
        response.writeHead(404, { "content-type": "text/html" }).end("<html><title>404</title>Not Found</html>"),
      "bad-answer",
      /Not Found \(HTTP 404\)/,
    ],
    ["429", json(429, { error: "slow down" }, { "retry-after": "0" }), "not-reachable", /asked too often: slow down/],
    [
      "502 of the proxy",
      json(502, { error: "Upstream error: connection refused" }),
      "not-reachable",
      /Upstream error: connection refused/,
    ],
    [
      "502 of a gateway",
      (_, response) => response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad Gateway</h1>"),
      "not-reachable",
      /Bad Gateway \(HTTP 502\)/,
    ],
    ["503 of Connect", json(503, { code: "unavailable", message: "starting" }), "not-reachable", /starting/],
    [
      "an error over many lines",
      json(500, { code: "internal", message: "RPC ExecuteRawQuery: no\nsuch\ttable\u0007" }),
      "refused",
      /RPC ExecuteRawQuery: no such table \(HTTP 500\)/,
    ],
    [
      "a redirect",
      (_, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
      "bad-answer",
      /HTTP 302/,
    ],
  ])("%s", async (_, listener, code, words) => {
    const { code: seen, message } = await failure(await serve(listener));
    expect(message).toMatch(words);
    expect(seen).toBe(code);
  });
});

describe("an answer that cannot be used", () => {
  it.each<[string, RequestListener, RegExp]>([
    [
      "200 with a page",
      (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>login</html>"),
      /answers with text\/html instead of application\/proto/,
    ],
    [
      "200 with garbage",
      (_, response) =>
        response
          .writeHead(200, { "content-type": "application/proto" })
          .end(Buffer.from([255, 255, 255, 255, 1, 2, 3])),
      /cannot be read/,
    ],
    [
      "a body that is cut off",
      (_, response) => {
        response.writeHead(200, { "content-type": "application/proto", "content-length": "1000" });
        response.write(Buffer.alloc(10));
        setTimeout(() => response.destroy(), 20);
      },
      /cut off after 10 bytes/,
    ],
    [
      "a chunked body that is cut off",
      (_, response) => {
        response.writeHead(200, { "content-type": "application/proto" });
        response.write(Buffer.alloc(10));
        setTimeout(() => response.destroy(), 20);
      },
      /cut off after 10 bytes/,
    ],
  ])("%s", async (_, listener, words) => {
    expect(await failure(await serve(listener))).toMatchObject({
      code: "bad-answer",
      message: expect.stringMatching(words),
    });
  });

  it("a body of which nobody says how long it is, and an empty one", async () => {
    const rows = Buffer.concat(Array.from({ length: 100 }, () => Buffer.from([0x12, 3, 0x5b, 0x31, 0x5d])));
    const head = "HTTP/1.1 200 OK\r\ncontent-type: application/proto\r\nconnection: close\r\n";
    const raw = async (bytes: string, body: Buffer): Promise<string> => {
      const server = createTcpServer((socket) =>
        socket.once("data", () => socket.end(Buffer.concat([Buffer.from(`${bytes}\r\n`), body]))),
      );
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      closing.push(() => server.close());
      const address = server.address();
      return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    };
    expect((await failure(await raw(head, rows))).message).toMatch(/does not say how long its answer is/);
    expect((await failure(await raw(`${head}content-length: 0\r\n`, Buffer.alloc(0)))).message).toMatch(/no columns/);
  });

  it("JSON that is none", async () => {
    const url = await serve((_, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end('{"columns":['),
    );
    expect(await failure(url, { codec: "json" })).toMatchObject({
      code: "bad-answer",
      message: expect.stringMatching(/cannot be read/),
    });
  });

  it("rows that do not fit their columns", async () => {
    const url = await serve(json(200, { columns: [{ name: "a" }], rows: ["[1, 2]"] }));
    expect(await failure(url, { codec: "json" })).toMatchObject({
      code: "bad-answer",
      message: expect.stringMatching(/row 1 .* 1 cells/),
    });
  });

  it.each([
    ["an Arrow stream that is cut off", (bytes: Buffer) => bytes.subarray(0, bytes.length - 900)],
    ["an Arrow stream without its last batch", (bytes: Buffer) => bytes.subarray(0, bytes.length - 8)],
    ["no Arrow stream", () => Buffer.from("PAR1 something else, and not short either")],
  ])("%s", async (what, cut) => {
    const double = await doubleWith({});
    const url = await serve(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      const answer = await fetch(`${double.url}${request.url}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: Buffer.concat(parts),
      });
      const said = (await answer.json()) as { arrowIpc?: string };
      if (said.arrowIpc !== undefined) said.arrowIpc = cut(Buffer.from(said.arrowIpc, "base64")).toString("base64");
      json(200, said)(request, response);
    });
    const asked = failure(url, { codec: "json" });
    // Without the end mark alone all rows are there.
    if (what.includes("last batch")) await expect(asked).rejects.toThrow("expected a UsageError");
    else expect((await asked).code).toBe("bad-answer");
  });

  it("more than is allowed", async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { "content-type": "application/proto" });
      const more = (): void => {
        if (!response.destroyed) response.write(Buffer.alloc(65_536), () => setImmediate(more));
      };
      more();
    });
    expect(await failure(url, { maxAnswerBytes: 1_048_576 })).toMatchObject({
      code: "bad-answer",
      message: expect.stringMatching(/more than 1 MiB/),
    });
  });
});

describe("nobody there", () => {
  it("a port on which nobody listens", async () => {
    const url = await serve(() => {});
    await closing.pop()?.();
    expect(await failure(url)).toMatchObject({
      code: "not-reachable",
      message: expect.stringMatching(/cannot be reached: connect ECONNREFUSED/),
    });
  });

  it("somebody who never answers", async () => {
    const url = await serve(() => {});
    expect(await failure(url, { timeoutMs: 200 })).toMatchObject({
      code: "not-reachable",
      message: expect.stringMatching(/no answer within 0.2 s/),
    });
  });

  it("a connection that is closed at once is tried again, then said", async () => {
    let connections = 0;
    const server = createTcpServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => server.close());
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    expect((await failure(`http://127.0.0.1:${port}`)).code).toBe("not-reachable");
    expect(connections).toBe(3);
  });

  it("a certificate that nobody has signed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "stint-tls-"));
    closing.push(() => rmSync(folder, { recursive: true }));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    execFileSync(
      "openssl",
      [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        key,
        "-out",
        cert,
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
      ],
      { stdio: "ignore" },
    );
    const options = { key: readFileSync(key), cert: readFileSync(cert) };
    const url = (await serve(() => {}, createTlsServer(options, () => {}) as unknown as Server)).replace(
      "http:",
      "https:",
    );
    expect(await failure(url)).toMatchObject({
      code: "not-reachable",
      message: expect.stringMatching(/certificate of https:.* is not accepted: self-signed certificate/),
    });
  });
});

describe("what is passing", () => {
  it("is tried again: twice unavailable, then the answer", async () => {
    let left = 2;
    const double = await doubleWith({
      intercept(request, response) {
        if (left === 0) return false;
        left -= 1;
        json(503, { code: "unavailable", message: "starting" })(request, response);
        return true;
      },
    });
    const report = await usage({ source: openIrisSource({ url: double.url }), job: ROOT, includeFailed: true });
    expect(report.ledgers.tasks.wallMs).toBe(190_310_743n);
  });

  it("a deadline and a cap of the statistics: smaller questions are asked, with the same answer", async () => {
    // The answer of the whole tree is above this cap, that of half of it is not.
    const double = await doubleWith({ era: "newer", capBytes: 3_000 });
    const report = await usage({ source: openIrisSource({ url: double.url }), job: ROOT, includeFailed: true });
    expect(report.ledgers.samples.wallMs).toBe(211_671_289n);
    expect(
      double.asked.filter(({ path }) => path.includes("Query") && path.includes("finelog")).length,
    ).toBeGreaterThan(1);
  });
});

describe("the way to the statistics", () => {
  it.each(["proxy", "direct"] as const)("is found where only %s is there", async (way) => {
    const double = await doubleWith({ stats: [way] });
    const report = await usage({ source: openIrisSource({ url: double.url }), job: ROOT });
    expect(report.ledgers.samples.wallMs).toBe(211_671_289n);
    const asked = double.asked.filter(({ path }) => path.includes("finelog"));
    expect(asked.every(({ path }) => path.startsWith("/proxy/") === (way === "proxy"))).toBe(true);
  });

  it("that is not there at all is said, with what may forward to it", async () => {
    const double = await doubleWith({ stats: [] });
    expect((await failure(double.url)).message).toMatch(/leads to no statistics, neither through \/proxy nor directly/);
  });
});

describe("a token", () => {
  it("is read from a file that only its owner may read, and sent", async () => {
    const double = await doubleWith({ auth: { token: "secret.token", isAdmin: true } });
    const folder = mkdtempSync(join(tmpdir(), "stint-token-"));
    closing.push(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "token");
    writeFileSync(file, "secret.token\n", { mode: 0o600 });
    const project = newProject();
    const env = { STINT_IRIS_TOKEN_FILE: file };
    const asked = await project.stint(["usage", double.url, ROOT, "--json"], { env });
    expect(asked.status).toBe(0);
    writeFileSync(file, "wrong");
    expect(await project.stint(["usage", double.url, ROOT], { env })).toMatchObject({ status: 4, stdout: "" });
    execFileSync("chmod", ["644", file]);
    const open = await project.stint(["usage", double.url, ROOT], { env });
    expect(open).toMatchObject({ status: 2, stdout: "" });
    expect(open.stderr).toMatch(/chmod 600/);
    expect(asked.stdout + open.stderr).not.toContain("secret.token");
  });

  it("of somebody who is no administrator does not do", async () => {
    const double = await doubleWith({ auth: { token: "t", isAdmin: false } });
    expect((await failure(double.url, { environment: { STINT_IRIS_TOKEN: "t" } })).message).toMatch(
      /admin role required/,
    );
  });
});

describe("the command line", () => {
  it("says one line and its exit status", async () => {
    const double = await doubleWith({});
    const project = newProject();
    expect(await project.stint(["usage", double.url, "/gonzalo/nothing"])).toMatchObject({
      status: 3,
      stdout: "",
      stderr: expect.stringMatching(/^stint: the controller at http:\S+ knows no job \/gonzalo\/nothing\n/),
    });
    const gone = await project.stint(["usage", "http://127.0.0.1:1", ROOT]);
    expect(gone).toMatchObject({ status: 4, stdout: "" });
    expect(gone.stderr.split("\n")[0]).toMatch(/^stint: http:\/\/127.0.0.1:1 cannot be reached/);
    for (const words of [
      ["usage", "ftp://x/", ROOT],
      ["usage", "http://u:p@127.0.0.1:1", ROOT],
      ["usage", double.url],
      ["usage", double.url, "nothing"],
      ["usage", double.url, ROOT, "more"],
      ["usage", double.url, ROOT, "--by", "moon"],
      ["usage", double.url, ROOT, "--as-of", "yesterday"],
    ]) {
      const wrong = await project.stint(words);
      expect([wrong.status, wrong.stdout]).toEqual([2, ""]);
      expect(wrong.stderr).toMatch(/^stint: /);
      expect(wrong.stderr).not.toMatch(/ at .*\.js/);
    }
  });
});
