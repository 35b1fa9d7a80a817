import { decodeId } from "@latchkey/db/ids";
import { type Account, callProcedure } from "./account.ts";
import { type Connection, open } from "./inspection.ts";

/** Who somebody is, and where they belong, as the web app shows it. */
export interface Belonging {
  readonly userId: string;
  readonly workspaceId: string;
}

/** Somebody's id, and that of the first of their workspaces. */
export async function getBelonging(baseUrl: string, { cookie }: Account): Promise<Belonging> {
  const { data } = await callProcedure(baseUrl, { path: "session.current", kind: "query", cookie });
  const { user, workspaces } = data as {
    readonly user: { readonly id: string };
    readonly workspaces: readonly { readonly id: string }[];
  }; // The router's type for this procedure.
  return { userId: user.id, workspaceId: workspaces[0]?.id ?? "" };
}

/** Writes memberships and looks them up, past the product. */
export interface MembershipBook {
  /** Makes somebody a member with this role, or gives a member the role. */
  readonly write: (belonging: Belonging, role: string) => Promise<void>;
  /** How many owners a workspace has. */
  readonly countOwners: (workspaceId: string) => Promise<number>;
  readonly close: () => Promise<void>;
}

export async function openMembershipBook(connection: Connection): Promise<MembershipBook> {
  const client = await open(connection);
  const uuidOf = (kind: "user" | "workspace", id: string): string => {
    const uuid = decodeId(kind, id);
    if (!uuid) throw new Error(`No ${kind}'s id: ${id}`);
    return uuid;
  };
  return {
    async write({ userId, workspaceId }, role) {
      const user = uuidOf("user", userId);
      await client.query("begin");
      await client.query(
        `insert into members (workspace_id, user_id, role) values ($1, $2, $3)
        on conflict (workspace_id, user_id) do update set role = excluded.role`,
        [uuidOf("workspace", workspaceId), user, role],
      );
      // As the product does with every change of a membership.
      await client.query(
        "update key_counters set version = version + 1 where key_id in (select id from api_keys where user_id = $1)",
        [user],
      );
      await client.query("commit");
    },
    async countOwners(workspaceId) {
      const { rows } = await client.query<{ count: number }>(
        "select count(*) as count from members where workspace_id = $1 and role = 'owner'",
        [uuidOf("workspace", workspaceId)],
      );
      return rows[0]?.count ?? -1;
    },
    close: () => client.end(),
  };
}
