import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** A message of a webhook, as it arrived. */
export interface ReceivedMessage {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server that receives messages of webhooks. */
export interface WebhookReceiver {
  readonly url: string;
  readonly messages: ReceivedMessage[];
  /** Responds to the next messages with 503. */
  readonly rejectNext: (count: number) => void;
  /** Responds to the next messages only after the returned function is called. */
  readonly hold: () => () => void;
  readonly stop: () => Promise<void>;
}

/** Starts a receiver on a loopback port. A silent one never responds. */
export async function startWebhookReceiver({ isSilent = false } = {}): Promise<WebhookReceiver> {
  const messages: ReceivedMessage[] = [];
  let rejections = 0;
  let released = Promise.resolve();
  const server = createServer(async (req, res) => {
    messages.push({ headers: req.headers, body: (await buffer(req)).toString("utf8") });
    if (isSilent) return;
    await released;
    const isRejected = rejections > 0;
    if (isRejected) rejections -= 1;
    res.writeHead(isRejected ? 503 : 204).end();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return {
    url: `http://127.0.0.1:${port}/`,
    messages,
    rejectNext(count) {
      rejections = count;
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      released = promise;
      return resolve;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
