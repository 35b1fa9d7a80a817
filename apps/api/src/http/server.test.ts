import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { type HttpServer, reserveAddress } from "./server.ts";

async function openServer(): Promise<HttpServer> {
  const server = await reserveAddress("127.0.0.1", 0);
  await server.serve((_req, res) => res.end("answered"));
  return server;
}

/** A connection that was used before and is kept. */
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

/** Uses one connection after the other; how many were answered before one was not. */
async function useInTurn(
  connections: readonly (() => Promise<IncomingMessage>)[],
  everyMs: number,
): Promise<number> {
  let answered = 0;
  for (const ask of connections) {
    await delay(everyMs);
    const response = await ask().catch(() => undefined);
    if (!response) break;
    expect(response.headers.connection).toBe("close");
    answered += 1;
  }
  return answered;
}

test("a server that is closed goes on while its connections bring requests, and tells each that it was the last", async () => {
  const server = await openServer();
  const connections = await Promise.all(Array.from({ length: 6 }, () => openConnection(server)));
  const closed = server.close({ graceMs: 5_000 });
  expect(await useInTurn(connections, 120)).toBe(6);
  await closed;
});

test("a server that is closed ends idle connections soon after the last request", async () => {
  const server = await openServer();
  await Promise.all(Array.from({ length: 6 }, () => openConnection(server)));
  const startedAt = performance.now();
  await server.close({ graceMs: 5_000 });
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});

test("a server that is closed is gone after two seconds, however many requests still come", async () => {
  const server = await openServer();
  const connections = await Promise.all(Array.from({ length: 40 }, () => openConnection(server)));
  const startedAt = performance.now();
  const answered = useInTurn(connections, 100);
  await server.close({ graceMs: 5_000 });
  expect(performance.now() - startedAt).toBeLessThan(3_000);
  expect(await answered).toBeGreaterThan(10);
});

test("an answer to a request that came before its server was closed tells that it was the last", async () => {
  const server = await reserveAddress("127.0.0.1", 0);
  let closed: Promise<void> | undefined;
  await server.serve((_req, res) => {
    closed = server.close({ graceMs: 5_000 });
    setTimeout(() => res.end("answered"), 50);
  });
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

test("a server that is closed takes new connections as ever while it gives notice", async () => {
  const server = await openServer();
  const connection = await openConnection(server);
  const closed = server.close({ noticeMs: 500, graceMs: 5_000 });
  expect((await connection()).headers.connection).toBe("keep-alive");
  await openConnection(server);
  await closed;
  await expect(openConnection(server)).rejects.toMatchObject({ code: "ECONNREFUSED" });
});
