import type { DatabaseConnection } from "@latchkey/db/connection";

export interface AdmissionOptions {
  readonly connection: DatabaseConnection;
  /** How long a request may wait for its verdict, in milliseconds. */
  readonly deadlineMs?: number;
  /** How many requests may be without a verdict at once; one more is answered "unavailable" there and then. */
  readonly maxWaiting?: number;
  /** How many keys, and roles of their users in workspaces, a node remembers. */
  readonly maxRemembered?: number;
  /** Told of each statement that is sent: how many keys it spends on, and how many it looks up. May throw. */
  readonly onStatement?: (batch: { readonly asks: number; readonly probes: number }) => void;
  /** Told of each failure of the statement or its connection, and of what `onStatement` throws. May throw. */
  readonly onFailure?: (error: unknown) => void;
}
