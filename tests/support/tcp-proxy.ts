import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * When a connection is cut during a statement: before Postgres gets the statement; after it was forwarded, so that
 * Postgres executes it; or when Postgres's reply arrives, before the client gets it.
 */
export type CutPoint = "before" | "during" | "after";

/** A TCP proxy to a Postgres that can stall, delay or cut connections. */
export interface TcpProxy {
  readonly port: number;
  /**
   * Stops forwarding in both directions, without closing connections. New connections are accepted and get no
   * reply.
   */
  readonly hold: () => void;
  /** Forwards again, beginning with the data that was held back. */
  readonly release: () => void;
  /**
   * Leaves the current connections open but dead, as after the loss of a machine. New connections are not affected.
   */
  readonly blackhole: () => void;
  /**
   * Delays everything by this many milliseconds, in both directions; 0 for no delay. Data in transit is lost when
   * either end closes the connection.
   */
  readonly slow: (milliseconds: number) => void;
  /** Ends all connections, and ends new ones immediately. */
  readonly cut: () => void;
  /** Accepts connections again. */
  readonly accept: () => void;
  /** Forwards new connections to another Unix socket, as after a failover. Current connections stay. */
  readonly leadTo: (socketPath: string) => void;
  /**
   * Closes a connection of the client with this `application_name` during an execution of a prepared statement whose
   * name begins with `statement`: the next execution, or the one after `passing` others. Resolves when the connection
   * is closed. "after" is after the commit, because Postgres replies to a statement that is its own transaction once
   * that is committed.
   */
  readonly cutStatement: (
    applicationName: string,
    statement: string,
    choice: { readonly point: CutPoint; readonly passing?: number },
  ) => Promise<void>;
  readonly close: () => Promise<void>;
}

interface PendingCut {
  readonly applicationName: string;
  readonly statement: string;
  readonly point: CutPoint;
  /** How many statements to forward before the cut. */
  passing: number;
  readonly done: () => void;
}

/** Listens on loopback and forwards to a Unix socket. */
export async function startTcpProxy(initialSocketPath: string): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const blackholed = new Set<Socket>();
  let socketPath = initialSocketPath;
  let isPaused = false;
  let isCut = false;
  let latencyMs = 0;
  let pendingCut: PendingCut | undefined;
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(socketPath);
    const toServer = createLane(far);
    const toClient = createLane(near);
    let name = "";
    let isAnswerLost: (() => void) | undefined;
    const end = (done: () => void): void => {
      near.destroy();
      far.destroy();
      done();
    };
    forward(near, far, (chunk) => {
      name ||= readApplicationName(chunk);
      const cut = name && isStatement(chunk) ? takeCut(name, chunk) : undefined;
      if (cut?.point === "before") return end(cut.done);
      if (cut?.point === "during") far.write(chunk, () => end(cut.done));
      else toServer(chunk, latencyMs);
      if (cut?.point === "after") isAnswerLost = cut.done;
    });
    forward(far, near, (chunk) => {
      if (isAnswerLost) end(isAnswerLost);
      else toClient(chunk, latencyMs);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  function forward(from: Socket, to: Socket, take: (chunk: Buffer) => void): void {
    sockets.add(from);
    from.on("data", take);
    from.on("end", () => to.end());
    from.on("error", () => undefined);
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
    if (isPaused) from.pause();
  }

  /** The pending cut, if this is its statement. */
  function takeCut(applicationName: string, chunk: Buffer): PendingCut | undefined {
    const cut = pendingCut;
    // Parse and Bind contain the statement's name.
    if (cut?.applicationName !== applicationName || !chunk.includes(cut.statement)) return undefined;
    cut.passing -= 1;
    if (cut.passing >= 0) return undefined;
    pendingCut = undefined;
    return cut;
  }

  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port, // It listens on TCP.
    hold() {
      isPaused = true;
      for (const socket of sockets) socket.pause();
    },
    release() {
      isPaused = false;
      for (const socket of sockets) if (!blackholed.has(socket)) socket.resume();
    },
    blackhole() {
      for (const socket of sockets) {
        blackholed.add(socket);
        socket.pause();
      }
    },
    slow(milliseconds) {
      latencyMs = milliseconds;
    },
    cut() {
      isCut = true;
      destroyAll();
    },
    accept() {
      isCut = false;
    },
    leadTo(newSocketPath) {
      socketPath = newSocketPath;
    },
    cutStatement: (applicationName, statement, { point, passing = 0 }) =>
      new Promise((done) => {
        pendingCut = { applicationName, statement, point, passing, done };
      }),
    async close() {
      isCut = true;
      destroyAll();
      server.close();
      await once(server, "close");
    },
  };
}

/** Writes chunks to a socket, each after a delay in milliseconds, in order. */
function createLane(to: Socket): (chunk: Buffer, milliseconds: number) => void {
  let lastDueAt = 0;
  const pieces: Buffer[] = [];
  const writeNext = (): void => {
    const piece = pieces.shift();
    if (piece && !to.destroyed) to.write(piece);
  };
  return (chunk, milliseconds) => {
    const now = performance.now();
    lastDueAt = Math.max(now + milliseconds, pieces.length > 0 ? lastDueAt : 0);
    pieces.push(chunk);
    // The chunks are written in order, whichever timer fires first.
    if (lastDueAt > now) setTimeout(writeNext, lastDueAt - now);
    else writeNext();
  };
}

/** Returns the `application_name` in the first message of a connection; empty for all other messages. */
function readApplicationName(chunk: Buffer): string {
  return /\0application_name\0([^\0]*)\0/.exec(chunk.toString("latin1"))?.[1] ?? "";
}

/**
 * Whether these messages begin with Parse or Bind, with which the execution of a prepared statement begins, after any simple
 * queries such as `begin`.
 */
function isStatement(chunk: Buffer): boolean {
  let start = 0;
  while (chunk[start] === 0x51 && start + 5 <= chunk.length)
    start += 1 + Math.max(4, chunk.readInt32BE(start + 1));
  return chunk[start] === 0x50 || chunk[start] === 0x42;
}
