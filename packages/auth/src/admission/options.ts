import type { DatabaseConnection } from "@latchkey/db/connection";
import type { AdmissionTimeouts } from "./timeouts.ts";

export interface AdmissionOptions extends Partial<AdmissionTimeouts> {
  readonly connection: DatabaseConnection;
  /** The most pending requests. Further requests are answered "unavailable" immediately. */
  readonly maxWaiting?: number;
  /** The most keys, plus roles of their users in workspaces, that a node remembers. */
  readonly maxCachedFacts?: number;
  /** Called for each statement that is sent, with the numbers of its usage increments and lookups. May throw. */
  readonly onStatement?: (batch: { readonly increments: number; readonly lookups: number }) => void;
  /**
   * Called for each failure of a statement or the connection, and for errors of `onStatement`. May throw.
   * @param isHealthCheck whether no request failed, but only checks whether requests can be admitted.
   */
  readonly onFailure?: (error: unknown, isHealthCheck: boolean) => void;
}
