import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { prepareDatabase, withStartErrors } from "../src/prepare-database.ts";
import { StartError } from "../src/start-error.ts";

async function listen(): Promise<{ readonly server: Server; readonly port: number }> {
  // Accepts connections and sends nothing.
  const server = createServer((socket) => socket.on("error", () => undefined)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port }; // The server listens on TCP.
}

test("the start fails with an error without the password if the database doesn't come up in time", async () => {
  const { server, port } = await listen();
  server.close();
  const waits: string[] = [];
  const databaseUrl = `postgres://latchkey:swordfish@127.0.0.1:${port}/latchkey`;
  const startup = prepareDatabase(
    { databaseUrl, dataDirectory: "/nowhere" },
    { canCreate: true, waitMs: 400, onWait: (message) => waits.push(message) },
  );
  const databaseName = `The Postgres server in DATABASE_URL (postgres://127.0.0.1:${port}/latchkey)`;
  const reason = `connect ECONNREFUSED 127.0.0.1:${port}`;
  await expect(startup).rejects.toEqual(
    new StartError(`${databaseName} can't be used: ${reason} (after waiting for 0.4 s).`),
  );
  expect(waits).toEqual([
    `${databaseName} isn't accepting connections yet: ${reason}. Waiting for up to 0.4 s.`,
  ]);
});

test("the start fails after the connection timeout if the host doesn't respond and waiting is off", async () => {
  const { server, port } = await listen();
  onTestFinished(() => void server.close());
  const databaseUrl = `postgres://latchkey@127.0.0.1:${port}/latchkey`;
  const startup = withStartErrors(() =>
    prepareDatabase({ databaseUrl, dataDirectory: "/nowhere" }, { canCreate: true }),
  );
  await expect(startup).rejects.toMatchObject({
    name: "StartError",
    message: expect.stringMatching(/^The Postgres server in .*latchkey\) can't be used: [^(]*timeout\.$/),
  });
});
