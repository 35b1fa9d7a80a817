import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { ClusterConnection } from "../embedded/cluster-connection.ts";

/** A proxy in front of a cluster that can reject connections, and counts them. */
export interface DatabaseGate {
  /** The same connection through the gate. */
  readonly connection: ClusterConnection;
  /** The number of connections so far, including rejected ones. */
  readonly arrivals: () => number;
  /** Ends all connections, and keeps new ones waiting until it is opened. */
  readonly hold: () => void;
  /** Starts to forward connections, those that wait first. */
  readonly open: () => void;
  /** Ends all connections; new ones are still forwarded. */
  readonly dropConnections: () => void;
  readonly close: () => void;
}

/** Creates a gate on loopback that rejects connections until it is opened. */
export async function createDatabaseGate(target: ClusterConnection): Promise<DatabaseGate> {
  const sockets = new Set<Socket>();
  let isOpen = false;
  let isPaused = false;
  const waiting: (() => void)[] = [];
  let arrivals = 0;
  const server = createServer((near) => {
    arrivals += 1;
    near.on("error", () => undefined);
    const forward = (): void => {
      const far = connect(`${target.host}/.s.PGSQL.${target.port}`).on("error", () => undefined);
      for (const socket of [near, far]) sockets.add(socket.on("close", () => sockets.delete(socket)));
      near.pipe(far).pipe(near);
    };
    if (isPaused) waiting.push(forward);
    else if (isOpen) forward();
    else near.destroy();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const dropConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const { port } = server.address() as AddressInfo; // It listens on TCP.
  return {
    connection: { ...target, host: "127.0.0.1", port },
    arrivals: () => arrivals,
    hold() {
      isPaused = true;
      dropConnections();
    },
    open() {
      isOpen = true;
      isPaused = false;
      for (const forward of waiting.splice(0)) forward();
    },
    dropConnections,
    close() {
      dropConnections();
      server.close();
    },
  };
}
