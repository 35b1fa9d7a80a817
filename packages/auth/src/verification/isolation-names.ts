import type { WorkspaceId } from "@latchkey/db/ids";
import { type FoundKeys, listCounterIds } from "./decide-request.ts";
import type { CounterId } from "./decide-verification.ts";
import type { VerificationRequest } from "./verification.ts";

/**
 * The names that isolate a request: the IDs of its counters, of the workspaces of the keys that it verifies and, if it has an
 * `Idempotency-Key`, of its user, whose `Idempotency-Key`s it claims.
 */
export function listIsolationNames(
  request: Pick<FoundKeys, "caller" | "targets"> & Pick<VerificationRequest, "name">,
): string[] {
  const { caller, name } = request;
  const userIds = caller && name ? [caller.userId] : [];
  return [...listCounterIds(request), ...listWorkspaceIds(request), ...userIds];
}

/** The workspaces of the keys that a request verifies; with a condition, only of keys with a counter that meets it. */
export function listWorkspaceIds(
  { targets }: Pick<FoundKeys, "targets">,
  condition: (id: CounterId) => boolean = () => true,
): WorkspaceId[] {
  return targets.flatMap((facts) => {
    if (!facts) return [];
    const { keyId, consumer, workspaceId } = facts;
    return condition(keyId) || (consumer && condition(consumer.id)) ? [workspaceId] : [];
  });
}
