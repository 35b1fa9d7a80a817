import { sql } from "kysely";
import type { Db } from "./schema.ts";
import type { IsolationGap } from "./tenant-isolation-error.ts";
import { functions } from "./tenant-isolation-functions.ts";
import { grants, listGrants } from "./tenant-isolation-grants.ts";
import { policies } from "./tenant-isolation-policies.ts";

const roles = Object.keys(grants);
const policyTables = [...new Set(policies.map(({ table }) => table))];
const grantTables = [...new Set(listGrants().map(({ table }) => table))];

/**
 * Finds everything that lets the product's roles see or do more than the migrations allow: policies, privileges,
 * memberships in other roles, and functions with another definition. In the schema of a newer version, these may be
 * additions of that version.
 */
export async function findAdditions(db: Db): Promise<IsolationGap[]> {
  return [
    ...(await findMemberships(db)),
    ...(await findAddedPolicies(db)),
    ...(await findAddedGrants(db)),
    ...(await findChangedFunctions(db)),
  ];
}

async function findMemberships(db: Db): Promise<IsolationGap[]> {
  const { rows } = await sql<{ role: string; group: string }>`
    select member.rolname as role, quote_ident(outer_role.rolname) as group
    from pg_auth_members
    join pg_roles member on member.oid = pg_auth_members.member
    join pg_roles outer_role on outer_role.oid = roleid
    where member.rolname = any(${roles}) order by 1, 2`.execute(db);
  return rows.map(({ role, group }) => ({
    description: `the role "${role}" is a member of the role ${group}`,
    remedy: `revoke ${group} from ${role};`,
    repairer: "superuser",
  }));
}

/**
 * Finds permissive policies, because one of them is enough to show a row. Policies for other roles than the product's
 * and PUBLIC don't affect the product.
 */
async function findAddedPolicies(db: Db): Promise<IsolationGap[]> {
  const { rows } = await sql<{ table: string; name: string; quoted: string }>`
    select relname as table, polname as name, quote_ident(polname) as quoted
    from pg_policy join pg_class on pg_class.oid = polrelid
    where relnamespace = to_regnamespace(quote_ident(current_schema())) and relname = any(${policyTables}) and polpermissive
      and exists (
        select from unnest(polroles) as named left join pg_roles on pg_roles.oid = named
        where named = 0 or rolname = any(${roles})
      )
    order by 1, 2`.execute(db);
  return rows
    .filter(({ table, name }) => !policies.some((rule) => rule.table === table && rule.name === name))
    .map(({ table, name, quoted }) => ({
      description: `the table "${table}" has the additional policy "${name}"`,
      remedy: `drop policy ${quoted} on ${table};`,
    }));
}

/** Finds privileges that the rules don't grant, of the product's roles and of PUBLIC, on the tables in the rules. */
async function findAddedGrants(db: Db): Promise<IsolationGap[]> {
  const { rows } = await sql<{ role: string; table: string; privilege: string; columns: string | null }>`
    with granted as (
      select relname as table, null as column, grantee, lower(privilege_type) as privilege
      from pg_class cross join aclexplode(relacl)
      where relnamespace = to_regnamespace(quote_ident(current_schema())) and relname = any(${grantTables})
      union all
      select relname, attname, grantee, lower(privilege_type)
      from pg_class join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
      cross join aclexplode(attacl)
      where relnamespace = to_regnamespace(quote_ident(current_schema())) and relname = any(${grantTables})
    )
    select coalesce(rolname, 'public') as role, granted.table, granted.privilege,
      string_agg(quote_ident(granted.column), ', ' order by granted.column) as columns
    from granted left join pg_roles on pg_roles.oid = grantee
    where (grantee = 0 or rolname = any(${roles})) and not exists (
      select from jsonb_to_recordset(${JSON.stringify(listGrants())}::jsonb)
        as expected (role text, "table" text, privilege text, "column" text)
      where expected.role = rolname and expected.table = granted.table and expected.privilege = granted.privilege
        and (expected.column is null or expected.column = granted.column)
    )
    group by 1, 2, 3 order by 2, 1, 3`.execute(db);
  return rows.map(({ role, table, privilege, columns }) => {
    const added = columns ? `${privilege} (${columns})` : privilege;
    return {
      description: `the role "${role}" has the additional privilege ${added} on the table "${table}"`,
      remedy: `revoke ${added} on ${table} from ${role};`,
    };
  });
}

async function findChangedFunctions(db: Db): Promise<IsolationGap[]> {
  const found = await digestFunctions(db);
  return Object.entries(functions)
    .filter(([signature, digest]) => (found.get(signature) ?? digest) !== digest)
    .map(([signature]) => ({ description: `the function "${signature}" has been changed` }));
}

/**
 * Computes the SHA-256 of each function in the rules, by signature: of its body, without the name of the schema, and of
 * its properties. `pg_get_functiondef` isn't used, because its output differs between versions of Postgres.
 */
export async function digestFunctions(db: Db): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ signature: string; digest: string }>`
    with place as (select current_schema()::text as schema)
    select signature, encode(sha256(convert_to(concat_ws(
      ' ', lanname, prosecdef, provolatile, proparallel, prorettype::regtype, proretset, proconfig,
      replace(
        replace(coalesce(pg_get_function_sqlbody(pg_proc.oid), prosrc), '"' || schema || '".', ''),
        quote_ident(schema) || '.',
        ''
      )
    ), 'UTF8')), 'hex') as digest
    from place cross join unnest(${Object.keys(functions)}::text[]) signature
    join pg_proc on pg_proc.oid = to_regprocedure(signature)
    join pg_language on pg_language.oid = prolang
    order by 1`.execute(db);
  return new Map(rows.map(({ signature, digest }) => [signature, digest]));
}
