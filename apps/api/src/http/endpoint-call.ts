import type { Permission } from "@latchkey/auth/permissions";
import type { Principal } from "@latchkey/auth/verdict";
import type { WorkspaceAccess } from "@latchkey/auth/workspace-access";
import type { Origin } from "@latchkey/db/audit-actions";
import type { Db, Trx } from "@latchkey/db/schema";
import type { Services } from "../domain/services.ts";

/**
 * The access that an endpoint requires. `key`: a valid API key. `unrestricted-key`: a valid API key that is not
 * restricted to workspaces, permissions or reading. `workspace`: this permission, of the key and its user, in the
 * workspace of the path parameter `:workspaceId`. There is no default: an endpoint without `access` does not compile.
 */
export type Access = "key" | "unrestricted-key" | { readonly workspace: Permission };

/** The context that a handler gets in addition to its input. */
export interface Call {
  /** The instance without its database, which `read` and `transact` provide. */
  readonly services: Omit<Services, "db" | "readDb">;
  readonly principal: Principal;
  /** The actor, IP address and request ID for the audit log. */
  readonly origin: Origin;
  /** When the request arrived, by this node's clock. */
  readonly now: Date;
  /**
   * Whether this request repeats a request with the same `Idempotency-Key` that the same secret made and that was
   * carried out. Such a retry may be allowed where a new request is not.
   */
  readonly isOwnRetry: boolean;
  /** The versions in `If-Match`; undefined if the header is missing or `*`. */
  readonly ifMatch: readonly number[] | undefined;
  /**
   * Reads from the database on one connection. The number of concurrent reads per user is limited. Postgres cancels a
   * statement after one second and rejects changes.
   */
  readonly read: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  /**
   * Runs all changes of the request in one transaction; call it once. A request with an `Idempotency-Key` is recorded
   * in the same transaction.
   * @throws {AppError} SERVICE_UNAVAILABLE if the change can't start early enough before the deadline of the request.
   */
  readonly transact: <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>;
}

/** The context of an endpoint that requires a permission in a workspace, with the access that admission granted. */
export interface WorkspaceCall extends Call {
  readonly access: WorkspaceAccess;
}

/** The context of any endpoint; `access` is set if the endpoint requires a permission in a workspace. */
export type AnyCall = Call & Partial<WorkspaceCall>;

/** The context of an endpoint with this access. */
export type CallOf<Allowed extends Access> = Allowed extends string ? Call : WorkspaceCall;
