import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Koa from "koa";
import { expect, onTestFinished, test } from "vitest";
import { health } from "./health.ts";

/** Health endpoints of a node with two checkers. The test answers the queries of one, and sets the state of the other and of the node. */
async function serveHealth() {
  const queries: PromiseWithResolvers<boolean>[] = [];
  const state = { isOtherAvailable: true, isDraining: false };
  const other = { isAvailable: async () => state.isOtherAvailable };
  const checker = {
    isAvailable() {
      const query = Promise.withResolvers<boolean>();
      queries.push(query);
      return query.promise;
    },
  };
  let arrivals = 0;
  const app = new Koa();
  app.silent = true;
  app.use(async (_ctx, next) => {
    arrivals += 1;
    await next();
  });
  app.use(health([checker, other], () => state.isDraining));
  const server = createServer(app.callback()).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo; // It listens on TCP.
  const get = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  return { queries, get, arrivals: () => arrivals, state };
}

test("concurrent probes share one query, and the next probe sends a new one", async () => {
  const { queries, get, arrivals } = await serveHealth();
  const probes = Array.from({ length: 50 }, () => get("/readyz"));
  await expect.poll(arrivals).toBe(50);
  expect(queries).toHaveLength(1);
  queries[0]?.resolve(true);
  expect(await Promise.all(probes)).toEqual(Array(50).fill(200));

  const next = get("/readyz");
  await expect.poll(() => queries.length).toBe(2);
  queries[1]?.resolve(false);
  expect(await next).toBe(503);
});

test("a probe after a failed query sends a new one", async () => {
  const { queries, get } = await serveHealth();
  const failed = get("/readyz");
  await expect.poll(() => queries.length).toBe(1);
  queries[0]?.reject(new Error("a bug"));
  expect(await failed).toBe(500);
  const next = get("/readyz");
  await expect.poll(() => queries.length).toBe(2);
  queries[1]?.resolve(true);
  expect(await next).toBe(200);
});

test("a node is ready only while each checker is available, and not once it drains", async () => {
  const { queries, get, state } = await serveHealth();
  const probe = async (change: () => void): Promise<number> => {
    const { length } = queries;
    const answer = get("/readyz");
    await expect.poll(() => queries.length).toBe(length + 1);
    change();
    queries.at(-1)?.resolve(true);
    return await answer;
  };
  expect(await probe(() => undefined)).toBe(200);
  state.isOtherAvailable = false;
  expect(await probe(() => undefined)).toBe(503);
  state.isOtherAvailable = true;
  expect(
    await probe(() => {
      state.isDraining = true;
    }),
  ).toBe(503);
  expect(await get("/readyz")).toBe(503);
  expect(queries).toHaveLength(3);
});

test("the liveness probe sends no query", async () => {
  const { queries, get } = await serveHealth();
  expect(await get("/healthz")).toBe(200);
  expect(queries).toHaveLength(0);
});
