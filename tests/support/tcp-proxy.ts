import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A way to a Postgres that can fall silent or be cut. */
export interface TcpProxy {
  readonly port: number;
  /** Forwards nothing more, in either direction, and closes nothing; new connections are taken and left waiting. */
  readonly hold: () => void;
  /** Forwards again, what was held back first. */
  readonly release: () => void;
  /** Leaves the present connections open and dead for good, as after the loss of a machine; new ones are not touched. */
  readonly strand: () => void;
  /** Ends all connections, and each new one at once. */
  readonly cut: () => void;
  /** Takes connections again. */
  readonly mend: () => void;
  readonly close: () => Promise<void>;
}

/** Listens on loopback and forwards to a Unix socket. */
export async function startTcpProxy(socketPath: string): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const stranded = new Set<Socket>();
  let isHeld = false;
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(socketPath);
    forward(near, far);
    forward(far, near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  function forward(from: Socket, to: Socket): void {
    sockets.add(from);
    from.on("data", (chunk) => to.write(chunk));
    from.on("end", () => to.end());
    from.on("error", () => undefined);
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
    if (isHeld) from.pause();
  }

  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port, // It listens on TCP.
    hold() {
      isHeld = true;
      for (const socket of sockets) socket.pause();
    },
    release() {
      isHeld = false;
      for (const socket of sockets) if (!stranded.has(socket)) socket.resume();
    },
    strand() {
      for (const socket of sockets) {
        stranded.add(socket);
        socket.pause();
      }
    },
    cut() {
      isCut = true;
      destroyAll();
    },
    mend() {
      isCut = false;
    },
    async close() {
      isCut = true;
      destroyAll();
      server.close();
      await once(server, "close");
    },
  };
}
