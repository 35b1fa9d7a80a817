import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * How many bytes of responses may wait for a client that pipelines requests, unless there is only one response, which may have any
 * length.
 */
const maxConnectionBytes = 4 * 1_024 * 1_024;
/** How many bytes of responses may wait for all clients of this node. */
const maxNodeBytes = 256 * 1_024 * 1_024;

/** The responses of a connection that wait for the client, with their bytes. */
interface Connection {
  readonly responses: Map<ServerResponse, number>;
  bytes: number;
}

/**
 * Creates the limits on the memory of responses that clients don't read. A client that reads a little now and then is never inactive,
 * so a timeout alone doesn't limit them.
 * @returns a function to call when a response has data that the system's buffers didn't accept. It ends the connection of the response
 *   at its limit, and at the limit of the node the connection with the most bytes.
 */
export function limitUnsentResponses(): (res: ServerResponse) => void {
  const connections = new Map<Socket, Connection>();
  let nodeBytes = 0;

  function update(socket: Socket, res: ServerResponse, bytes: number): Connection {
    const connection = connections.get(socket) ?? { responses: new Map(), bytes: 0 };
    connections.set(socket, connection);
    const earlier = connection.responses.get(res);
    // Node emits `close` when the response has left for the system, and when the connection ends.
    if (earlier === undefined) res.once("close", () => remove(socket, res));
    connection.responses.set(res, bytes);
    connection.bytes += bytes - (earlier ?? 0);
    nodeBytes += bytes - (earlier ?? 0);
    return connection;
  }

  function remove(socket: Socket, res: ServerResponse): void {
    const connection = connections.get(socket);
    const bytes = connection?.responses.get(res);
    if (!connection || bytes === undefined) return;
    connection.responses.delete(res);
    connection.bytes -= bytes;
    nodeBytes -= bytes;
    if (connection.responses.size === 0) connections.delete(socket);
  }

  function disconnect(socket: Socket, { bytes }: Connection): void {
    // Subtracts the bytes now, so that the next response doesn't end another connection before this one has closed.
    connections.delete(socket);
    nodeBytes -= bytes;
    socket.destroy();
  }

  return (res) => {
    const { socket } = res.req;
    // Its bytes are no longer counted.
    if (socket.destroyed) return;
    const connection = update(socket, res, res.writableLength);
    if (connection.responses.size > 1 && connection.bytes > maxConnectionBytes) {
      disconnect(socket, connection);
    }
    if (nodeBytes <= maxNodeBytes) return;
    const [largest] = [...connections].toSorted(([, one], [, other]) => other.bytes - one.bytes);
    if (largest) disconnect(...largest);
  };
}
