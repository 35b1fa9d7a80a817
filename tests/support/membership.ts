import { decodeId } from "@latchkey/db/ids";
import { type Account, callProcedure } from "./account.ts";
import { type Connection, open } from "./inspection.ts";
import { untilAnswered } from "./until-answered.ts";

/** A user and their workspaces, as the web app shows them. */
export interface Membership {
  readonly userId: string;
  readonly workspaceId: string;
}

/** Returns the ID of a user, and the ID of their first workspace. */
export async function getMembership(baseUrl: string, { cookie }: Account): Promise<Membership> {
  const call = { path: "session.current", kind: "query", cookie } as const;
  const { data } = await untilAnswered(() => callProcedure(baseUrl, call));
  const { user, workspaces } = data as {
    readonly user: { readonly id: string };
    readonly workspaces: readonly { readonly id: string }[];
  }; // The router's type for this procedure.
  return { userId: user.id, workspaceId: workspaces[0]?.id ?? "" };
}

/** Reads and writes memberships directly in the database. */
export interface MembershipTable {
  /** Adds a member with this role, or changes the role of a member. */
  readonly write: (belonging: Membership, role: string) => Promise<void>;
  /** Returns the number of owners of a workspace. */
  readonly countOwners: (workspaceId: string) => Promise<number>;
  readonly close: () => Promise<void>;
}

export async function openMembershipTable(connection: Connection): Promise<MembershipTable> {
  const client = await open(connection);
  const uuidOf = (kind: "user" | "workspace", id: string): string => {
    const uuid = decodeId(kind, id);
    if (!uuid) throw new Error(`Not an ID of a ${kind}: ${id}`);
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
      // Latchkey does the same with every change to a membership.
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
