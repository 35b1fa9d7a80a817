import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { ClusterConnection } from "../embedded/cluster-connection.ts";

/** A proxy in front of a cluster that counts connections, and can reject them or lead them to another cluster. */
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
  /**
   * Stops forwarding the data of the current connections, without ending them, as a firewall or a frozen server does. New ones are
   * forwarded. Returns a function that forwards again, beginning with the data that was held back.
   */
  readonly stall: () => () => void;
  /** Forwards new connections to this cluster, or to one that claims to be a standby. Current connections stay. */
  readonly leadTo: (target: ClusterConnection, options?: { readonly claimsStandby?: boolean }) => void;
  readonly close: () => void;
}

/** The report of a setting, `ParameterStatus`, by a primary and by a standby. */
const primaryReport = Buffer.from("S\0\0\0\x17in_hot_standby\0off\0");
const standbyReport = Buffer.from("S\0\0\0\x16in_hot_standby\0on\0");

/** Creates a gate on loopback that rejects connections until it is opened. */
export async function createDatabaseGate(initialTarget: ClusterConnection): Promise<DatabaseGate> {
  const sockets = new Set<Socket>();
  let isOpen = false;
  let isPaused = false;
  let target = initialTarget;
  let claimsStandby = false;
  const waiting: (() => void)[] = [];
  let arrivals = 0;
  const server = createServer((near) => {
    arrivals += 1;
    near.on("error", () => undefined);
    const forward = (): void => {
      const far = connect(`${target.host}/.s.PGSQL.${target.port}`).on("error", () => undefined);
      for (const socket of [near, far]) sockets.add(socket.on("close", () => sockets.delete(socket)));
      near.pipe(far);
      if (claimsStandby)
        far.on("data", (data: Buffer) => near.write(claimStandby(data))).on("end", () => near.end());
      else far.pipe(near);
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
    connection: { ...initialTarget, host: "127.0.0.1", port },
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
    stall() {
      const stalled = [...sockets];
      for (const socket of stalled) socket.pause();
      return () => {
        for (const socket of stalled) socket.resume();
      };
    },
    leadTo(newTarget, options) {
      target = newTarget;
      claimsStandby = options?.claimsStandby ?? false;
    },
    close() {
      dropConnections();
      server.close();
    },
  };
}

/** Postgres sends its reports in one packet. */
function claimStandby(data: Buffer): Buffer {
  const start = data.indexOf(primaryReport);
  if (start < 0) return data;
  return Buffer.concat([data.subarray(0, start), standbyReport, data.subarray(start + primaryReport.length)]);
}
