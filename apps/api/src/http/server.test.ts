import { once } from "node:events";
import { Agent, type IncomingMessage, type RequestListener, request } from "node:http";
import { connect, type Socket } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { measureSlowest } from "@latchkey/db/testing/measure-slowest";
import { expect, onTestFinished, test } from "vitest";
import { type HttpServer, reserveAddress } from "./server.ts";

const baseUrl = "https://keys.example.com";

async function openServer(): Promise<HttpServer> {
  const server = await reserveAddress("127.0.0.1", 0);
  await server.serve((_req, res) => res.end("answered"), baseUrl);
  return server;
}

/** A keep-alive connection that was used before. */
async function openConnection({ address }: HttpServer): Promise<() => Promise<IncomingMessage>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const ask = (): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const call = request({ ...address, agent }, (response) => {
        response.resume();
        response.on("end", () => resolve(response));
      });
      call.on("error", reject);
      call.end();
    });
  await ask();
  return ask;
}

/** Uses one connection after the other, and stops at the first one without a response. */
async function useInTurn(
  connections: readonly (() => Promise<IncomingMessage>)[],
): Promise<{ readonly answered: number; readonly longestPauseMs: number }> {
  let answered = 0;
  let longestPauseMs = 0;
  let lastAt = performance.now();
  for (const ask of connections) {
    await delay(everyMs);
    const askedAt = performance.now();
    const response = await ask().catch(() => undefined);
    // The server received the previous request after `lastAt`, and this one before now.
    longestPauseMs = Math.max(longestPauseMs, performance.now() - lastAt);
    lastAt = askedAt;
    if (!response) break;
    expect(response.headers.connection).toBe("close");
    answered += 1;
  }
  return { answered, longestPauseMs };
}

/** Less than the 250 ms without a request after which the server ends idle connections. */
const certainlyServedMs = 200;

/** How long attempts are repeated, in milliseconds. Each takes less than three seconds on a machine that isn't busy. */
const attemptsMs = 120_000;

/** The time between two requests, in milliseconds. It's short, so that an attempt tolerates almost {@link certainlyServedMs} of delay. */
const everyMs = 10;

/**
 * Repeats an attempt until one has no pause in which the server may end idle connections. On a busy machine this
 * process can pause for that long, and such an attempt proves nothing.
 */
async function withoutPause<Result extends { readonly longestPauseMs: number }>(
  attempt: () => Promise<Result>,
): Promise<Result> {
  const startedAt = performance.now();
  do {
    const result = await attempt();
    if (result.longestPauseMs <= certainlyServedMs) return result;
  } while (performance.now() - startedAt < attemptsMs);
  return expect.fail(`for ${attemptsMs} ms, each attempt had a pause of more than ${certainlyServedMs} ms`);
}

test("a closing server serves requests on open connections, and marks each response as the last", async () => {
  const { answered } = await withoutPause(async () => {
    const server = await openServer();
    const connections = await Promise.all(Array.from({ length: 75 }, () => openConnection(server)));
    const closed = server.close({ graceMs: 5_000 });
    const result = await useInTurn(connections);
    await closed;
    return result;
  });
  expect(answered).toBe(75);
});

test("a closing server closes idle connections soon after the last request", async () => {
  const server = await openServer();
  await Promise.all(Array.from({ length: 6 }, () => openConnection(server)));
  const stopMeasuring = measureSlowest(() => turn());
  const startedAt = performance.now();
  await server.close({ graceMs: 5_000 });
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeLessThan(1_000 + (await stopMeasuring()));
});

test("a closing server stops after two seconds, even if more requests arrive", async () => {
  const { tookMs } = await withoutPause(async () => {
    const server = await openServer();
    const connections = await Promise.all(Array.from({ length: 250 }, () => openConnection(server)));
    const stopMeasuring = measureSlowest(() => turn());
    const startedAt = performance.now();
    const result = useInTurn(connections);
    await server.close({ graceMs: 5_000 });
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeLessThan(3_000 + (await stopMeasuring()));
    return { ...(await result), tookMs };
  });
  // Without requests, it would stop earlier.
  expect(tookMs).toBeGreaterThan(1_900);
});

test("marks the response to a request that arrived before the server closed as the last", async () => {
  const server = await reserveAddress("127.0.0.1", 0);
  let closed: Promise<void> | undefined;
  await server.serve((_req, res) => {
    closed = server.close({ graceMs: 5_000 });
    setTimeout(() => res.end("answered"), 50);
  }, baseUrl);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ ...server.address, agent }, resolve)
      .on("error", reject)
      .end();
  });
  response.resume();
  expect(response.headers.connection).toBe("close");
  await closed;
});

test("a closing server accepts new connections during the notice period", async () => {
  const server = await openServer();
  const connection = await openConnection(server);
  // Much longer than two requests take on a busy machine.
  const closed = server.close({ noticeMs: 3_000, graceMs: 5_000 });
  expect((await connection()).headers.connection).toBe("keep-alive");
  await openConnection(server);
  await closed;
  await expect(openConnection(server)).rejects.toMatchObject({ code: "ECONNREFUSED" });
});

test("a closing server accepts and serves all clients that connected before", async () => {
  const server = await openServer();
  const clients = Array.from({ length: 60 }, () => send(server, "GET / HTTP/1.1\r\nHost: here\r\n\r\n"));
  const answers = clients.map((client) => text(client).catch(() => ""));
  await turn();
  await turn();
  // The operating system accepts the connections while the server is busy.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  await server.close({ graceMs: 5_000 });
  expect((await Promise.all(answers)).filter((answer) => answer.endsWith("answered"))).toHaveLength(60);
});

test("a closing server responds to pipelined requests", async () => {
  const server = await reserveAddress("127.0.0.1", 0);
  let closed: Promise<void> | undefined;
  await server.serve((req, res) => {
    closed ??= server.close({ graceMs: 5_000 });
    // A later request has a shorter delay, because it waits for those before it.
    setTimeout(() => res.end(`answer to ${req.url}.`), 250 - 50 * Number(req.url?.slice(1)));
  }, baseUrl);
  const paths = ["/1", "/2", "/3", "/4"];
  const client = send(server, paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`).join(""));
  const answer = await text(client);
  expect(answer.match(/answer to \/\d/g)).toEqual(paths.map((path) => `answer to ${path}`));
  expect(answer.match(/^Connection: .*$/gim)?.slice(-1)).toEqual(["Connection: close"]);
  await closed;
});

test.for([
  ["whose request is answered", 10_000, (end: () => void) => end()],
  ["whose request is never answered", 500, () => undefined],
] as const)(
  "a closing server doesn't wait for a tunnel that was requested after a request, one %s",
  async ([, graceMs, answer]) => {
    const server = await reserveAddress("127.0.0.1", 0);
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    await server.serve((_req, res) => {
      asked();
      answer(() => res.end("answered"));
    }, baseUrl);
    send(
      server,
      "GET / HTTP/1.1\r\nHost: here\r\n\r\nCONNECT there:1 HTTP/1.1\r\nHost: there\r\n\r\n",
    ).resume();
    await isAsked;
    const startedAt = performance.now();
    await server.close({ graceMs });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  },
);

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`;

/** Serves requests on a server that the test closes. */
async function serve(listener: RequestListener): Promise<HttpServer> {
  const server = await reserveAddress("127.0.0.1", 0);
  onTestFinished(() => server.close({ graceMs: 0 }));
  await server.serve(listener, baseUrl);
  return server;
}

test.for([
  ["has been sent", "rejected"],
  // More than the system buffers, so that the response waits for the client.
  ["waits for the client", Buffer.alloc(64 * 1_024 * 1_024)],
] as const)(
  "a request behind a body that was not read is not handled, when the response to that body %s",
  async ([, rejection]) => {
    const handled: (string | undefined)[] = [];
    const { promise: accepted, resolve: accept } = Promise.withResolvers<Socket>();
    const server = await serve((req, res) => {
      handled.push(req.url);
      accept(req.socket);
      res.end(rejection);
    });
    const start = "POST /1 HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n";
    const rest = `4\r\nbody\r\n0\r\n\r\n${get("/2")}`;
    const client = send(server, start);
    const socket = await accepted;
    const closed = once(socket, "close");
    client.write(rest);
    const { length } = start + rest;
    await expect.poll(() => socket.destroyed || socket.bytesRead === length).toBe(true);
    client.resume();
    await closed;
    expect(handled).toEqual(["/1"]);
  },
);

test("a client that sends too many requests behind a body that was not read is disconnected", async () => {
  const { promise: accepted, resolve: accept } = Promise.withResolvers<Socket>();
  const server = await serve((req, res) => {
    accept(req.socket);
    res.end(Buffer.alloc(64 * 1_024 * 1_024)); // Waits for the client.
  });
  const client = send(server, "POST /1 HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n");
  const socket = await accepted;
  client.write(`0\r\n\r\n${get("/2").repeat(40)}`);
  await expect.poll(() => socket.destroyed).toBe(true);
});

test("a client that reads none of its pipelined responses is disconnected when they exceed 4 MB", async () => {
  const body = Buffer.alloc(2 * 1_024 * 1_024);
  const { promise: accepted, resolve: accept } = Promise.withResolvers<Socket>();
  const server = await serve((req, res) => {
    accept(req.socket);
    res.end(body);
  });
  send(server, get("/").repeat(32));
  const socket = await accepted;
  await expect.poll(() => socket.destroyed).toBe(true);
});

test("a client that reads late gets a response of any size", async () => {
  const body = Buffer.alloc(64 * 1_024 * 1_024);
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const server = await serve((_req, res) => {
    res.end(body);
    answer();
  });
  const client = send(server, get("/").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
  await answered;
  const { length } = await buffer(client);
  expect(length).toBeGreaterThan(body.length);
});

test("when clients leave more than 256 MB unread, the one with the most is disconnected", async () => {
  const bodies = new Map([8, 16, 128].map((size) => [`/${size}`, Buffer.alloc(size * 1_024 * 1_024)]));
  const sockets: Socket[] = [];
  const server = await serve((req, res) => {
    sockets.push(req.socket);
    res.end(bodies.get(req.url ?? "") ?? "answered");
  });
  const paths = ["/16", ...Array.from({ length: 31 }, () => "/8")];
  const clients: Socket[] = [];
  const request = async (path: string): Promise<void> => {
    clients.push(send(server, get(path)));
    await expect.poll(() => sockets.length).toBe(clients.length);
  };
  for (const path of paths) await request(path);
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual(paths.map((path) => path === "/16"));
  for (const client of clients) client.destroy();
  await expect.poll(() => sockets.every(({ destroyed }) => destroyed)).toBe(true);
  // The bytes of closed connections no longer count.
  await request("/128");
  expect(sockets.at(-1)?.destroyed).toBe(false);
});

/** A connection that sends this text and stays open on the client's side. */
function send({ address }: HttpServer, words: string): Socket {
  const client = connect({ ...address, allowHalfOpen: true });
  onTestFinished(() => void client.destroy());
  client.on("error", () => undefined); // A reset shows in the data that didn't arrive.
  client.write(words);
  return client;
}
