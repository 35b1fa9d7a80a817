import { openAsOperator } from "@latchkey/auth/workspace-access";
import { getPolicy, previewPolicy, type RejectedKey } from "@latchkey/db/api-key-policies";
import type { WorkspaceId } from "@latchkey/db/ids";
import { listMembersWithoutFactor, type Member } from "@latchkey/db/members";
import type { Db } from "@latchkey/db/schema";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { presentRejectedKey } from "../../presenters/api-key-policy.ts";
import { presentMember } from "../../presenters/member.ts";
import { formatTime } from "../format.ts";
import { type ListResult, listOf, type View } from "../result.ts";

/** The most members, and the most API keys, in a preview. */
const maxListed = 1_000;

type Affected =
  | { readonly type: "member"; readonly member: Member }
  | { readonly type: "api-key"; readonly key: RejectedKey };

/**
 * Lists the members who lose access to a workspace if it requires a second factor, by name, and then the API keys that stop
 * working, last used first. Both lists are empty if the workspace already requires one.
 */
export async function previewSecondFactor(db: Db, workspace: WorkspaceId): Promise<ListResult> {
  const scope = openAsOperator(workspace);
  const { requiresSecondFactor } = await db
    .transaction()
    .execute((trx) => getWorkspaceSummary(trx, workspace)); // Reports a missing workspace.
  const affected = requiresSecondFactor
    ? []
    : await inWorkspace(db, scope, async (trx): Promise<readonly Affected[]> => {
        const { members } = await listMembersWithoutFactor(trx, scope, maxListed);
        const policy = await getPolicy(trx, scope);
        const query = { policy, requiresSecondFactor: true, limit: maxListed };
        const { keys } = await previewPolicy(trx, scope, query);
        return [
          ...members.map((member) => ({ type: "member", member }) as const),
          ...keys.map((key) => ({ type: "api-key", key }) as const),
        ];
      });
  return listOf(affected, {
    present,
    view: affectedView,
    emptyText: "No member would lose access, and no key would stop working.",
  });
}

function present(affected: Affected) {
  const { type } = affected;
  return type === "member"
    ? { type, ...presentMember(affected.member) }
    : { type, ...presentRejectedKey(affected.key) };
}

const affectedView: View<ReturnType<typeof present>> = [
  { label: "ID", text: (shown) => (shown.type === "member" ? shown.userId : shown.id) },
  { label: "Type", text: ({ type }) => (type === "member" ? "member" : "API key") },
  { label: "Last used here", text: describeLastUse },
  { label: "Member", text: (shown) => (shown.type === "member" ? shown.name : shown.owner.name) },
  {
    label: "Email address or key name",
    text: (shown) => (shown.type === "member" ? (shown.email ?? "none") : shown.name),
  },
];

function describeLastUse(shown: ReturnType<typeof present>): string {
  if (shown.type === "member") return "-";
  return shown.lastUsedAt ? formatTime(shown.lastUsedAt) : "not recently";
}
