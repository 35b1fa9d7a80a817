import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Admission } from "@latchkey/auth/admission";
import { AppError } from "@latchkey/errors";
import Koa, { type Context } from "koa";
import { afterAll, beforeAll, expect, test } from "vitest";
import { admitFirst } from "./admit-first.ts";

// No token here is a key, so that the database is asked nothing.
const admission = new Admission({ connection: { connectionString: "postgres://nobody@127.0.0.1:1/none" } });
const gate = {
  admission,
  isTrustedProxy: () => false,
  findRoute(_method: string, path: string) {
    events.push("asked");
    if (path === "/open/broken") throw new Error("a bug");
    return new AppError("NOT_FOUND");
  },
};

/** Told the address of a caller who has gone. */
const gone = Promise.withResolvers<string | undefined>();

/** Tells what it was given. */
async function open({ path, res, asked }: Context): Promise<void> {
  if (path === "/open/gone") gone.resolve(asked?.kind === "judged" ? asked.address : undefined);
  if (asked?.kind === "failed" && asked.error instanceof Error) res.end(asked.error.message);
  else if (asked?.kind === "judged" && asked.verdict.kind === "refused") res.end(asked.verdict.reason);
  else res.end(asked?.kind);
}

const app = new Koa();
app.use((ctx) => {
  ctx.body = "the app";
});
const listener = admitFirst(gate, open, app);
/** What happened to requests, in its order. */
const events: string[] = [];
const server = createServer((req, res) => {
  events.push("read");
  listener(req, res);
  if (req.url === "/open/gone") req.socket.destroy();
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

test("the open API's handler gets what admission said, and the app gets all else", async () => {
  const paths = ["/open/me", "/open/me?limit=1", "/open", "/open?limit=1", "/opening", "/me?from=/open", "/"];
  const answers = await Promise.all(paths.map((path) => get(path, "no-key")));
  expect(answers).toEqual([...Array(4).fill("malformed"), ...Array(3).fill("the app")]);
  expect(await get("/open/me")).toBe("no-key");
});

test("requests that are read in one turn are taken to admission one right after the other", async () => {
  const sockets = [1, 2, 3].map(() => connect(Number(new URL(baseUrl).port), "127.0.0.1"));
  const request = "GET /open/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer no-key\r\n\r\n";
  const askAll = async (): Promise<void> => {
    const answers = sockets.map((socket) => once(socket, "data"));
    for (const socket of sockets) socket.write(request);
    for (const [answer] of await Promise.all(answers)) expect(String(answer)).toContain("malformed");
  };
  // The first time the connections are not all there yet.
  await askAll();
  events.length = 0;
  await askAll();
  expect(events).toEqual(["read", "read", "read", "asked", "asked", "asked"]);
  for (const socket of sockets) socket.destroy();
});

test("where a request came from is known also when its connection ended before it was admitted", async () => {
  const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
  socket.write("GET /open/gone HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer no-key\r\n\r\n");
  await once(socket, "close");
  expect(await gone.promise).toBe("127.0.0.1");
});

test("a bug on the way to admission is told to the handler, and the requests beside it are served", async () => {
  const paths = ["/open/me", "/open/broken", "/open/me"];
  const answers = await Promise.all(paths.map((path) => get(path, "no-key")));
  expect(answers).toEqual(["malformed", "a bug", "malformed"]);
});
