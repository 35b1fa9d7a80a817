import { createHash, createHmac, pbkdf2Sync } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { isLockTimeout } from "../sqlstate.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";

/**
 * The role that every connection of the product logs in as. It owns the database and everything in it, and is not a
 * superuser.
 */
const loginRole = "latchkey_app";

/** The roles that connections of the product assume. The login role can assume them, and inherits nothing from them. */
const assumedRoles = ["latchkey_tenant", "latchkey_admission"];

/**
 * As in migrate.ts: how long a change of owner waits for a table's lock, which blocks other users of the table, and the
 * pause before the next attempt, in milliseconds.
 */
const lockTimeoutMs = 100;
const pauseMs = 250;
const maxAttempts = 130;
const queryTimeoutMs = 60_000;
/** "latchkey login" as a number; any constant would do. */
const preparationLock = "5494737029634126061";

/**
 * Creates the login role, the roles that it assumes and their memberships. Makes the login role the owner of the
 * database and of every object in it that belongs to the superuser, as in a cluster of a version that logged in as the
 * superuser. Each step commits separately and is skipped if it is already done, so that a crash or a concurrent
 * preparation by another process does no harm. Nodes of that older version keep working, because a superuser needs no
 * ownership.
 *
 * @returns how the login role connects.
 * @throws EmbeddedPostgresError `start-failed`
 */
export async function prepareLoginRole(superuser: ClusterConnection): Promise<ClusterConnection> {
  const login = { ...superuser, user: loginRole, password: derivePassword(superuser.password) };
  const client = new Client({
    ...superuser,
    application_name: "latchkey login role",
    connectionTimeoutMillis: 10_000,
    lock_timeout: lockTimeoutMs,
    query_timeout: queryTimeoutMs,
  });
  // The query in flight reports the error. Without this listener, it would end the process.
  client.on("error", () => {});
  try {
    await client.connect();
    const verifier = scramVerifier(login.password);
    if ((await findSteps(client, verifier)).length > 0) {
      await client.query("set lock_timeout = 0");
      await client.query("select pg_advisory_lock($1)", [preparationLock]);
      await client.query(`set lock_timeout = ${lockTimeoutMs}`);
      for (const step of await findSteps(client, verifier)) await run(client, step);
    }
    return login;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EmbeddedPostgresError(
      "start-failed",
      `The embedded Postgres's role ${loginRole} cannot be set up (${reason}).`,
      { cause: error },
    );
  } finally {
    client.end().catch(() => {});
  }
}

/**
 * Derives the password from the superuser's password, so that there is no second secret to store or lose. The
 * superuser's password can't be computed from it.
 */
function derivePassword(superuserPassword: string): string {
  return createHmac("sha256", superuserPassword).update(`password of ${loginRole}`).digest("base64url");
}

/**
 * Computes what Postgres stores for a password. The salt is derived from the password, so the result can be compared
 * with what is stored, and no statement contains the password itself.
 * @see https://www.rfc-editor.org/rfc/rfc5803
 */
function scramVerifier(password: string): string {
  const iterations = 4096;
  const salt = createHash("sha256").update(`salt ${password}`).digest().subarray(0, 16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const sign = (text: string) => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(sign("Client Key")).digest("base64");
  const serverKey = sign("Server Key").toString("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${storedKey}:${serverKey}`;
}

/** Finds the statements that are left to run, in order. */
async function findSteps(client: Client, verifier: string): Promise<string[]> {
  const { rows } = await client.query<{ step: string }>(stepsText, [loginRole, verifier, assumedRoles]);
  return rows.map(({ step }) => step);
}

async function run(client: Client, step: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(step);
      return;
    } catch (error) {
      if (!isLockTimeout(error) || attempt === maxAttempts) throw error;
      await delay(pauseMs);
    }
  }
}

const stepsText = `
with app_schema as (
  select oid, nspname, nspowner from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'
),
-- Objects that belong to an extension, a column (its sequence) or a table (its row type) change owner with it.
owned (classid, objid, owner, kind, name) as (
  select 'pg_namespace'::regclass, oid, nspowner, 'schema', quote_ident(nspname) from app_schema
  union all
  select 'pg_class'::regclass, oid, relowner,
    case relkind when 'S' then 'sequence' when 'v' then 'view' when 'm' then 'materialized view'
      when 'f' then 'foreign table' else 'table' end,
    oid::regclass::text
  from pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S') and relnamespace in (select oid from app_schema)
  union all
  select 'pg_proc'::regclass, oid, proowner, 'routine', oid::regprocedure::text
  from pg_proc where pronamespace in (select oid from app_schema)
  union all
  select 'pg_type'::regclass, oid, typowner, case typtype when 'd' then 'domain' else 'type' end, oid::regtype::text
  from pg_type
  where (typtype in ('d', 'e', 'r') or (select relkind = 'c' from pg_class where oid = typrelid))
    and typnamespace in (select oid from app_schema)
)
select step from (
  select 1, case when login.oid is null then 'create' else 'alter' end
    || format(' role %I login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password %L', $1::text, $2::text)
  from (values (1)) always left join pg_authid login on login.rolname = $1
  where login.oid is null or login.rolpassword is distinct from $2 or not login.rolcanlogin or login.rolsuper
    or login.rolcreatedb or login.rolcreaterole or login.rolreplication or login.rolbypassrls
  union all
  select 2, format('create role %I nologin', assumed)
  from unnest($3::text[]) assumed where not exists (select from pg_roles where rolname = assumed)
  union all
  select 3, format('grant %I to %I with inherit false, set true', assumed, $1::text)
  from unnest($3::text[]) assumed
  where not exists (
    select from pg_auth_members membership
    where membership.roleid = to_regrole(quote_ident(assumed)) and membership.member = to_regrole(quote_ident($1::text))
      and membership.set_option and not membership.inherit_option
  )
  union all
  select 4, format('alter database %I owner to %I', datname, $1::text)
  from pg_database
  where datname = current_database() and datdba is distinct from to_regrole(quote_ident($1::text))::oid
  union all
  select 5, format('alter %s %s owner to %I', kind, name, $1::text)
  from owned
  where owner = (select oid from pg_roles where rolname = current_user) and not exists (
    select from pg_depend
    where pg_depend.classid = owned.classid and pg_depend.objid = owned.objid and deptype in ('a', 'e', 'i')
  )
) as steps (place, step)
order by place, step`;
