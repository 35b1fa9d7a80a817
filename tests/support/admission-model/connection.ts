import { Agent } from "node:http";
import { send } from "../load.ts";

/** A keep-alive connection, which runs one task at a time. */
export class Connection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #baseUrl: string;
  #last: Promise<void> = Promise.resolve();

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  async enqueue(
    task: (ask: (secret: string, path?: string) => Promise<number | undefined>) => Promise<void>,
  ): Promise<void> {
    const turn = this.#last.then(() =>
      task(async (secret, path) => (await send(this.#agent, this.#baseUrl, secret, { path })).status),
    );
    this.#last = turn.catch(() => undefined);
    await turn;
  }

  close(): void {
    this.#agent.destroy();
  }
}
