import type { WorkspaceKey } from "../../server/trpc.ts";

/** What to do with which keys. */
export interface BlockRequest {
  readonly action: "block" | "unblock";
  readonly apiKeys: readonly WorkspaceKey[];
  /** Whether these are the selected keys, which are no longer selected after the change. */
  readonly isSelection: boolean;
}

/** Whether unblocking changes anything: it also lets an idle key use the workspace again. */
export function canUnblock({ isBlocked, violation }: WorkspaceKey): boolean {
  return isBlocked || violation === "idle";
}
