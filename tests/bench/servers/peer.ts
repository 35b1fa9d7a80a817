import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Answer } from "./answer.ts";

/** What a server to compare with is told on its standard input. */
export interface PeerSetup {
  readonly answer: Answer;
  /** The database of a peer that needs one. */
  readonly database?: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
    readonly database: string;
  };
}

/** Reads what the runner has to say. */
export async function readSetup(): Promise<PeerSetup> {
  return JSON.parse(await text(process.stdin)) as PeerSetup; // `startPeer` wrote it.
}

/** Serves on a free port of loopback and says so in the words that the product uses. */
export async function serve(listener: RequestListener): Promise<void> {
  // As long as the product keeps a connection, so that `Keep-Alive` is the same header.
  const server = createServer({ keepAliveTimeout: 65_000 }, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // It listens on TCP.
  process.stdout.write(`ready at http://127.0.0.1:${port}\n`);
}
