import { type RawBuilder, sql } from "kysely";

export const userKinds = ["person", "service_account"] as const;

/** Whether a user is a person, who can sign in, or a service account of one workspace. */
export type UserKind = (typeof userKinds)[number];

/** SQL for whether a user is a person. @param table the name of the `users` table in the query. */
export function isPerson(table = "users"): RawBuilder<boolean> {
  return sql<boolean>`(${sql.ref(`${table}.service_workspace_id`)} is null)`;
}

/** SQL for the kind of a user; null if an outer join found no user. */
export function selectUserKind(table = "users"): RawBuilder<UserKind> {
  return sql<UserKind>`
    case when ${sql.ref(`${table}.id`)} is null then null when ${isPerson(table)} then 'person' else 'service_account' end`;
}

/** SQL for the email address of a person; null for a service account, which has none. */
export function selectEmail(table = "users"): RawBuilder<string | null> {
  return sql<string | null>`case when ${isPerson(table)} then ${sql.ref(`${table}.email`)} end`;
}

/** SQL for the text that a search for users looks at. A search can't contain the separator. */
export function searchableUser(): RawBuilder<string> {
  return sql<string>`users.name || chr(31) || coalesce(${selectEmail()}, '')`;
}
