import { once } from "node:events";
import { createServer } from "node:net";

/** Finds a port on loopback that nothing listens on. Another process may take it afterwards. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("The server does not listen on TCP.");
  return address.port;
}
