import { sql } from "kysely";
import { containsText } from "./contains-text.ts";
import type { UserId } from "./ids.ts";
import type { UserKind } from "./user-kind.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** Someone who can have made a change in a workspace: a member, a former member, a service account or a deleted user. */
export interface AuditActor {
  readonly userId: UserId;
  readonly name: string;
  /** Null for a service account and a deleted user. */
  readonly email: string | null;
  /** Null for a deleted user. */
  readonly kind: UserKind | null;
}

/** How many actors, and how many members, a search considers. Each actor takes one look-up in an index. */
const maxSearchedActors = 1_000;

/**
 * Finds members of a workspace, and actors in its audit log, by a part of their name or email address, or by their ID.
 * Searches and returns only the email addresses of current members: a workspace must not see those of people who have
 * left.
 */
export async function findAuditActors(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  {
    search,
    id,
    limit,
  }: { readonly search: string; readonly id?: UserId | undefined; readonly limit: number },
): Promise<AuditActor[]> {
  const email = sql`case when users.service_workspace_id is null and members.user_id is not null then users.email end`;
  const name = sql`coalesce(users.name, former_users.name)`;
  const matches =
    search === ""
      ? sql<boolean>`true`
      : sql<boolean>`(found.id = ${id ?? null}::uuid
          or ${containsText(sql`${name} || chr(31) || coalesce(${email}, '')`, search)})`;
  // Steps from each actor to the next one in the index, so that the number of events doesn't matter.
  const { rows } = await sql<AuditActor>`
    with recursive actors (id, place) as (
      (select actor_user_id, 1 from audit_events
      where workspace_id = ${workspaceId} and actor_user_id is not null
      order by actor_user_id desc limit 1)
      union all
      select (
        select actor_user_id from audit_events
        where workspace_id = ${workspaceId} and actor_user_id < actors.id
        order by actor_user_id desc limit 1), place + 1
      from actors where id is not null and place < ${maxSearchedActors}
    ),
    found (id) as (
      select id from actors where id is not null
      union
      (select user_id from members where workspace_id = ${workspaceId}
      order by user_id limit ${maxSearchedActors})
      union
      -- An exact ID is found among any number of actors.
      select wanted.id from (select ${id ?? null}::uuid as id) wanted
      where exists (select from audit_events where workspace_id = ${workspaceId} and actor_user_id = wanted.id)
    )
    select found.id as "userId", ${name} as name, ${email} as email,
      case when users.id is null then null
        when users.service_workspace_id is null then 'person' else 'service_account' end as kind
    from found
    left join users on users.id = found.id
    left join former_users on former_users.id = found.id
    left join members on members.user_id = found.id and members.workspace_id = ${workspaceId}
    where ${name} is not null and ${matches}
    order by lower(${name}), found.id limit ${limit}`.execute(trx);
  return rows;
}
