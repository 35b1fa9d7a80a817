import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { openGround } from "../src/boot.ts";
import { StartError } from "../src/start-error.ts";

async function listen(): Promise<{ readonly server: Server; readonly port: number }> {
  // It takes connections and says nothing.
  const server = createServer((socket) => socket.on("error", () => undefined)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port }; // It listens on TCP.
}

test("a database that does not come up in time ends the start with one sentence, which has no password", async () => {
  const { server, port } = await listen();
  server.close();
  const waits: string[] = [];
  const databaseUrl = `postgres://latchkey:swordfish@127.0.0.1:${port}/latchkey`;
  const started = openGround(
    { databaseUrl, dataDirectory: "/nowhere" },
    { mayCreate: true, waitMs: 400, onWait: (message) => waits.push(message) },
  );
  const place = `The Postgres of DATABASE_URL (postgres://127.0.0.1:${port}/latchkey)`;
  const reason = `connect ECONNREFUSED 127.0.0.1:${port}`;
  await expect(started).rejects.toEqual(
    new StartError(`${place} cannot be used: ${reason} (after waiting for 0.4 s).`),
  );
  expect(waits).toEqual([`${place} is not up yet: ${reason}. Waiting for up to 0.4 s.`]);
});

test("a host that never answers is given up on, at once where it is not waited for", async () => {
  const { server, port } = await listen();
  onTestFinished(() => void server.close());
  const databaseUrl = `postgres://latchkey@127.0.0.1:${port}/latchkey`;
  const started = openGround({ databaseUrl, dataDirectory: "/nowhere" }, { mayCreate: true });
  await expect(started).rejects.toMatchObject({
    name: "StartError",
    message: expect.stringMatching(/latchkey\) cannot be used: [^(]*timeout\.$/),
  });
});
