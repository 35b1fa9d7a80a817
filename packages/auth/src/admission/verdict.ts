import type { KeyId, UserId } from "@latchkey/db/ids";
import type { WorkspaceAccess } from "../workspace-access.ts";
import type { RefusalReason } from "./judge.ts";

/** On whose behalf an admitted request acts. */
export interface Principal {
  readonly keyId: KeyId;
  readonly userId: UserId;
}

/** What admission answers; it never throws. */
export type Verdict =
  | {
      readonly kind: "admitted";
      readonly principal: Principal;
      /** What it may do in the workspace that it asked for; undefined where it asked for none. */
      readonly access: WorkspaceAccess | undefined;
    }
  | { readonly kind: "refused"; readonly reason: RefusalReason }
  /** The database did not confirm in time, or too many requests wait. The use may have been counted. */
  | { readonly kind: "unavailable"; readonly retryAfterSeconds: number };
