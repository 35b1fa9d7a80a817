import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { clientAddress } from "./client-address.ts";

test("an IPv4 client is named as such, also on a socket that takes IPv6 too", async () => {
  const seen: (string | null | undefined)[] = [];
  const server = createServer((req, res) => {
    seen.push(req.socket.remoteAddress, clientAddress(req));
    res.end();
  });
  server.listen({ host: "::ffff:127.0.0.1", port: 0 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // It listens on a port.
  const sent = get({ host: "127.0.0.1", port, agent: false });
  const [response] = (await once(sent, "response")) as [IncomingMessage]; // The event's one argument.
  await once(response.resume(), "end");
  server.close();
  await once(server, "close");
  expect(seen).toEqual(["::ffff:127.0.0.1", "127.0.0.1"]);
});
