import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { UserId } from "@latchkey/db/ids";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createExportSemaphore, maxOpenExports, openExport } from "./open-exports.ts";
import { writeReply } from "./reply.ts";
import { fileReply, openFile } from "./streamed-file.ts";

// When an export stops being in progress, with each way in which it can end. Each request is of its own user, who is the
// path of its URL, so that the number of keys is that of exports.

const exports = createExportSemaphore();
/** Lets files yield their first chunk. */
let release: () => void;
let isReleased: Promise<void>;
let server: Server;
const sockets = new Set<Socket>();
let port: number;

const files: Readonly<Record<string, () => AsyncGenerator<string>>> = {
  async *"/short"() {
    yield "all";
  },
  async *"/empty"() {},
  async *"/endless"() {
    while (true) yield "x".repeat(100_000);
  },
  async *"/held"() {
    await isReleased;
    yield "late";
  },
  async *"/late"() {
    await isReleased;
    yield "too late";
  },
  async *"/impossible"() {
    yield await Promise.reject(new Error("failed before the first chunk"));
  },
  async *"/broken"() {
    yield "x".repeat(100_000);
    throw new Error("failed after the first chunk");
  },
};

beforeAll(async () => {
  server = createServer(async (req, res) => {
    const path = req.url ?? "";
    const chunks = files[path]?.() ?? files["/empty"]?.();
    if (!chunks) throw new Error("There is no such file.");
    const file = { contentType: "text/plain", name: "file", chunks };
    const userId = path as UserId; // Any string.
    try {
      const opening = openExport(exports, { userId, res }, () => openFile(file));
      // Like a request whose deadline passes.
      if (path === "/late") res.writeHead(503).end();
      else await writeReply(res, fileReply("id", await opening));
    } catch {
      if (res.headersSent) res.destroy();
      else res.writeHead(500).end();
    }
  });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port; // It listens on a port.
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  ({ promise: isReleased, resolve: release } = Promise.withResolvers<void>());
  expect(exports.keyCount).toBe(0);
});

const countOpen = () => exports.keyCount;

const request = (path: string, signal?: AbortSignal) =>
  fetch(`http://127.0.0.1:${port}${path}`, signal ? { signal } : {});

/** Sends requests on one connection, which reads no response. */
function send(...paths: readonly string[]): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.pause();
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(""));
  return socket;
}

test.each(["/short", "/empty"])("an export ends when all of it has been sent (%s)", async (path) => {
  const response = await request(path);
  expect(await response.text()).toBe(path === "/short" ? "all" : "");
  await expect.poll(countOpen).toBe(0);
});

test("an export ends when the client cancels it, and not while the client doesn't read", async () => {
  const stopping = new AbortController();
  const response = await request("/endless", stopping.signal);
  const reader = response.body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  expect(countOpen()).toBe(1);
  stopping.abort();
  await expect.poll(countOpen).toBe(0);
});

test("an export whose client disconnects before the first byte ends when its first page has been read", async () => {
  const socket = send("/held");
  await expect.poll(countOpen).toBe(1);
  const { localPort } = socket;
  socket.destroy();
  await expect.poll(() => [...sockets].filter(({ remotePort }) => remotePort === localPort)).toEqual([]);
  expect(countOpen()).toBe(1);
  release();
  await expect.poll(countOpen).toBe(0);
});

test("an export whose response is an error at the deadline ends when its first page has been read", async () => {
  const response = await request("/late");
  expect(response.status).toBe(503);
  await response.text();
  expect(countOpen()).toBe(1);
  release();
  await expect.poll(countOpen).toBe(0);
});

test("an export ends when it fails before its first byte", async () => {
  expect((await request("/impossible")).status).toBe(500);
  await expect.poll(countOpen).toBe(0);
});

test("an export ends when it fails after its first byte", async () => {
  const response = await request("/broken");
  await expect(response.text()).rejects.toThrow("terminated");
  await expect.poll(countOpen).toBe(0);
});

test("exports end with their connection, even those that wait for an earlier response", async () => {
  const socket = send("/endless", "/held", "/short");
  await expect.poll(countOpen).toBe(3);
  release();
  socket.destroy();
  await expect.poll(countOpen).toBe(0);
});

test("rejects an export beyond the limit, and opens it once another has ended", async () => {
  const own = createExportSemaphore();
  const { promise: isEnded, resolve: end } = Promise.withResolvers<void>();
  const run = (userId: string, task: () => Promise<void>) =>
    own.run(userId as UserId, Number.POSITIVE_INFINITY, task); // Any string.
  const open = Array.from({ length: maxOpenExports }, () => run("ada", () => isEnded));
  const another = run("ada", async () => undefined);
  await expect(another).rejects.toMatchObject({ code: "TOO_MANY_REQUESTS", retryAfterSeconds: 10 });
  await run("grace", async () => undefined);
  end();
  await Promise.all(open);
  await run("ada", async () => undefined);
});
