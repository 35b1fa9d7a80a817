import type { Writable } from "node:stream";
import type { EmbeddedPostgresEvent } from "@latchkey/db/embedded-postgres";

const descriptions = {
  lost: "the embedded Postgres stopped unexpectedly",
  recovered: "the embedded Postgres was recovered",
  starting: "the embedded Postgres is still starting",
} as const satisfies Record<EmbeddedPostgresEvent["kind"], string>;

/** What happened to the embedded Postgres, for the log. */
export function describePostgresEvent({ kind }: EmbeddedPostgresEvent): string {
  return descriptions[kind];
}

/** Tells the person who runs a command why it waits: a long recovery has no other output. */
export function reportSlowStart(stderr: Writable): (event: EmbeddedPostgresEvent) => void {
  return ({ kind }) => {
    if (kind === "starting") stderr.write(`Waiting, because ${descriptions.starting}.\n`);
  };
}
