import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate as turn } from "node:timers/promises";
import { Admission } from "@latchkey/auth/admission";
import type { Verdict } from "@latchkey/auth/verdict";
import { AppError } from "@latchkey/errors";
import Koa, { type Context } from "koa";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Reply } from "./reply.ts";
import { type AdmissionOutcome, createRequestListener } from "./request-listener.ts";

// No token here is a key, so the database isn't queried.
const admission = new Admission({ connection: { connectionString: "postgres://nobody@127.0.0.1:1/none" } });
const gate = {
  admission: {
    admit(token: string): Promise<Verdict> {
      return token === "rejected" ? Promise.reject(new Error("a bug in admission")) : admission.admit(token);
    },
  },
  verifier: {
    recognize: () => Promise.reject(new Error("No request verifies keys.")),
    verify: () => Promise.reject(new Error("No request verifies keys.")),
  },
  isTrustedProxy: () => false,
  findRoute(_method: string, path: string) {
    events.push("asked");
    if (path === "/open/broken") throw new Error("a bug");
    return new AppError("NOT_FOUND");
  },
};

/** Receives the address of a client that has disconnected. */
const disconnected = Promise.withResolvers<string | undefined>();

/** Replies with its arguments, or as the path specifies. */
function open({ req }: Context, outcome: AdmissionOutcome): Reply | Promise<Reply> {
  events.push("served");
  const reply = { status: 200, headers: [], body: tell(outcome) };
  switch (req.url) {
    case "/open/disconnected":
      disconnected.resolve(outcome.kind === "decided" ? outcome.address : undefined);
      return reply;
    case "/open/later":
      return Promise.resolve(reply);
    case "/open/thrown":
      throw new Error("thrown");
    case "/open/rejected":
      return Promise.reject(new Error("rejected"));
    case "/open/unwritable":
      return { ...reply, headers: ["X-Broken", "a\nb"] };
    default:
      return reply;
  }
}

function tell(outcome: AdmissionOutcome): string {
  if (outcome.kind === "failed") return String(outcome.error);
  return outcome.kind === "decided" && outcome.verdict.kind === "rejected"
    ? outcome.verdict.reason
    : outcome.kind;
}

/** Replies with the error. */
function answerFailure({ res }: Context, thrown: unknown): void {
  res.statusCode = 500;
  res.end(String(thrown));
}

const app = new Koa();
app.use(async (ctx) => {
  // Later than the first step of another request that was read at the same time.
  await turn();
  if (ctx.path.startsWith("/step")) events.push(ctx.path);
  await turn();
  if (ctx.path.startsWith("/step")) events.push(ctx.path);
  ctx.body = "the app";
});
const listener = createRequestListener(gate, { open, app, answerFailure });
/** The steps of the requests, in order. */
const events: string[] = [];
const server = createServer((req, res) => {
  events.push("read");
  const end = res.end;
  res.end = ((...body: Parameters<typeof end>) => {
    events.push("written");
    return end.apply(res, body);
  }) as typeof end; // One of several overloads.
  listener(req, res);
  if (req.url === "/open/disconnected") req.socket.destroy();
});
let baseUrl: string;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await admission.close();
});

async function get(path: string, token?: string): Promise<string> {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  return await (await fetch(baseUrl + path, { headers })).text();
}

test("passes admitted requests to the open API, and all others to the app", async () => {
  const paths = ["/open/me", "/open/me?limit=1", "/open", "/open?limit=1", "/opening", "/me?from=/open", "/"];
  const answers = await Promise.all(paths.map((path) => get(path, "no-key")));
  expect(answers).toEqual([...Array(4).fill("malformed"), ...Array(3).fill("the app")]);
  expect(await get("/open/me")).toBe("no-key");
});

test("processes requests that are read together step by step", async () => {
  const sockets = [1, 2, 3].map(() => connect(Number(new URL(baseUrl).port), "127.0.0.1"));
  const request = "GET /open/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer no-key\r\n\r\n";
  const askAll = async (): Promise<void> => {
    const answers = sockets.map((socket) => once(socket, "data"));
    for (const socket of sockets) socket.write(request);
    for (const [answer] of await Promise.all(answers)) expect(String(answer)).toContain("malformed");
  };
  // In the first attempt, not all connections are open yet.
  await askAll();
  events.length = 0;
  await askAll();
  expect(events).toEqual(["read", "asked", "served", "written"].flatMap((step) => Array(3).fill(step)));
  for (const socket of sockets) socket.destroy();
});

test("passes pipelined requests to the app one after the other", async () => {
  events.length = 0;
  const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n`;
  socket.write(
    `${request("/step1")}\r\n${request("/step2")}\r\n${request("/step3")}Connection: close\r\n\r\n`,
  );
  expect((await text(socket)).match(/the app/g)).toHaveLength(3);
  const steps = events.filter((event) => event.startsWith("/"));
  expect(steps).toEqual(["/step1", "/step1", "/step2", "/step2", "/step3", "/step3"]);
});

test("keeps the address of a client that disconnects before admission", async () => {
  const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
  socket.write("GET /open/disconnected HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer no-key\r\n\r\n");
  await once(socket, "close");
  expect(await disconnected.promise).toBe("127.0.0.1");
});

test("passes a bug before admission to the handler, and serves the other requests", async () => {
  const paths = ["/open/me", "/open/broken", "/open/me"];
  const answers = await Promise.all(paths.map((path) => get(path, "no-key")));
  expect(answers).toEqual(["malformed", "Error: a bug", "malformed"]);
  expect(await get("/open/me", "rejected")).toBe("Error: a bug in admission");
});

test("responds with an error if serving or writing fails, and serves the other requests", async () => {
  const paths = ["me", "thrown", "me", "rejected", "later", "unwritable", "me"];
  const answers = await Promise.all(paths.map((path) => get(`/open/${path}`, "no-key")));
  expect(answers).toEqual([
    "malformed",
    "Error: thrown",
    "malformed",
    "Error: rejected",
    "malformed",
    expect.stringContaining("Invalid character in header"),
    "malformed",
  ]);
});
