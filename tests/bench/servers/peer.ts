import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { ReferenceResponse } from "./reference-response.ts";

/** The setup that a peer reads from its standard input. */
export interface PeerSetup {
  readonly response: ReferenceResponse;
  /** The database, for a peer that needs one. */
  readonly database?: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
    readonly database: string;
  };
}

/** Reads the setup from the runner. */
export async function readSetup(): Promise<PeerSetup> {
  return JSON.parse(await text(process.stdin)) as PeerSetup; // Written by `startPeer`.
}

/** Listens on a free port of the loopback interface, and prints the same ready line as Latchkey. */
export async function serve(listener: RequestListener): Promise<void> {
  // The same timeout as Latchkey's, so that the `Keep-Alive` headers are equal.
  const server = createServer({ keepAliveTimeout: 65_000 }, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // A server that listens on TCP has an `AddressInfo`.
  process.stdout.write(`ready at http://127.0.0.1:${port}\n`);
}
