import { sql } from "kysely";
import { type DatabaseConnection, openDatabase } from "./connection.ts";
import type { Db } from "./schema.ts";
import { findAdditions } from "./tenant-isolation-additions.ts";
import { type IsolationGap, TenantIsolationError } from "./tenant-isolation-error.ts";
import { functions, triggers } from "./tenant-isolation-functions.ts";
import { grants, listGrants } from "./tenant-isolation-grants.ts";
import { type PolicyRule, policies } from "./tenant-isolation-policies.ts";

export interface IsolationOptions {
  /** Whether a newer version has migrated the schema. Its possible additions are then reported and are not an error. */
  readonly isNewer?: boolean;
  /** Whether to run the statements that repair the database, as its owner. */
  readonly canRepair?: boolean;
}

/** The differences that the check accepted, as parts of sentences. */
export interface IsolationReport {
  /** What a newer version may have added. */
  readonly additions: readonly string[];
  /** What was repaired. */
  readonly repaired: readonly string[];
}

/**
 * Checks that everything that isolates tenants is as the migrations set it up: that nothing is missing, and that no
 * policy, privilege or function lets the product's roles do more. Requires that the roles exist.
 * @throws {TenantIsolationError} that names every difference.
 */
export async function requireTenantIsolation(
  connection: DatabaseConnection,
  { isNewer = false, canRepair = false }: IsolationOptions = {},
): Promise<IsolationReport> {
  const db = openDatabase(connection, {
    applicationName: "latchkey start",
    role: "login",
    maxConnections: 1,
  });
  const find = async (): Promise<{
    readonly gaps: readonly IsolationGap[];
    readonly additions: readonly IsolationGap[];
  }> => {
    const [gaps, additions] = [await findGaps(db), await findAdditions(db)];
    return isNewer ? { gaps, additions } : { gaps: [...gaps, ...additions], additions: [] };
  };
  try {
    const before = await find();
    const isRepairing = before.gaps.length > 0 && canRepair;
    if (isRepairing) await repair(db, before.gaps);
    const { gaps, additions } = isRepairing ? await find() : before;
    if (gaps.length > 0) throw new TenantIsolationError(gaps);
    const describe = (list: readonly IsolationGap[]) => list.map(({ description }) => description);
    return { additions: describe(additions), repaired: isRepairing ? describe(before.gaps) : [] };
  } finally {
    await db.destroy();
  }
}

/** Runs the statements in one transaction, so that no other transaction sees a table without its policy. */
async function repair(db: Db, gaps: readonly IsolationGap[]): Promise<void> {
  await db.transaction().execute(async (trx) => {
    for (const { remedy, repairer } of gaps)
      if (remedy !== undefined && repairer === undefined) await sql.raw(remedy).execute(trx);
  });
}

/** Finds what is missing. `db` is a connection as the owner of the database. */
export async function findGaps(db: Db): Promise<readonly IsolationGap[]> {
  const tables = await readTables(db);
  const expected = Object.values(grants).flatMap((tablesOfRole) => Object.keys(tablesOfRole));
  const missing = [...new Set(expected)].filter((name) => !tables.has(name));
  return [
    ...missing.map((name) => ({
      description: `the table "${name}" is missing`,
      consequence: "statements that use it fail",
    })),
    ...(await findRoleGaps(db)),
    ...findSecurityGaps(tables),
    ...(await findPolicyGaps(db)).filter(({ table }) => tables.has(table)),
    ...(await findGrantGaps(db)).filter(({ table }) => tables.has(table)),
    ...(await findFunctionGaps(db)),
    ...(await findTriggerGaps(db)).filter(({ table }) => tables.has(table)),
  ];
}

type Tables = ReadonlyMap<string, { readonly isEnabled: boolean; readonly isForced: boolean }>;

async function readTables(db: Db): Promise<Tables> {
  const { rows } = await sql<{ name: string; isEnabled: boolean; isForced: boolean }>`
    select relname as name, relrowsecurity as "isEnabled", relforcerowsecurity as "isForced"
    from pg_class where relnamespace = to_regnamespace(quote_ident(current_schema())) and relkind in ('r', 'p')`.execute(
    db,
  );
  return new Map(rows.map(({ name, ...security }) => [name, security]));
}

async function findRoleGaps(db: Db): Promise<IsolationGap[]> {
  const { rows } = await sql<{ name: string; schema: string; isExempt: boolean; hasUsage: boolean }>`
    select rolname as name, current_schema()::text as schema, rolsuper or rolbypassrls as "isExempt",
      has_schema_privilege(oid, to_regnamespace(quote_ident(current_schema())), 'usage') as "hasUsage"
    from pg_roles where rolname = any(${Object.keys(grants)}) order by 1`.execute(db);
  return rows.flatMap(({ name, schema, isExempt, hasUsage }) => [
    ...(isExempt
      ? [
          {
            description: `the role "${name}" bypasses row-level security`,
            remedy: `alter role ${name} nosuperuser nobypassrls;`,
            repairer: "superuser" as const,
          },
        ]
      : []),
    ...(hasUsage
      ? []
      : [
          {
            description: `the role "${name}" lacks usage on the schema "${schema}"`,
            consequence: "all of its statements fail",
            remedy: `grant usage on schema "${schema}" to ${name};`,
          },
        ]),
  ]);
}

function findSecurityGaps(tables: Tables): IsolationGap[] {
  return [...new Set(policies.map(({ table }) => table))].flatMap((name) => {
    const security = tables.get(name);
    if (!security || (security.isEnabled && security.isForced)) return [];
    const description = `row-level security of the table "${name}" is ${security.isEnabled ? "not forced" : "disabled"}`;
    return [
      { description, remedy: `alter table ${name} enable row level security, force row level security;` },
    ];
  });
}

type FoundPolicy = Omit<PolicyRule, "isRestrictive"> & {
  readonly isRestrictive: boolean;
  readonly isOther: boolean;
};

async function findPolicyGaps(db: Db): Promise<(IsolationGap & { readonly table: string })[]> {
  const { rows } = await sql<FoundPolicy>`
    select tablename as table, policyname as name, array_to_string(roles, ', ') as role, lower(cmd) as command,
      qual as using, permissive = 'RESTRICTIVE' as "isRestrictive", with_check is not null as "isOther"
    from pg_policies where schemaname = current_schema()`.execute(db);
  return policies.flatMap((rule) => {
    const { table, name, role, command, using, isRestrictive = false } = rule;
    const found = rows.find((row) => row.table === table && row.name === name);
    const create = `create policy ${name} on ${table}${isRestrictive ? " as restrictive" : ""} for ${command} to ${role} using (${using});`;
    if (!found) {
      const description = `the table "${table}" lacks the policy "${name}"`;
      const consequence = `the role "${role}" can't access the rows that the policy allows`;
      return [{ table, description, ...(!isRestrictive && { consequence }), remedy: create }];
    }
    const isSame = found.role === role && found.command === command && found.using === using;
    if (isSame && found.isRestrictive === isRestrictive && !found.isOther) return [];
    const description = `the policy "${name}" of the table "${table}" has been changed`;
    return [{ table, description, remedy: `drop policy ${name} on ${table}; ${create}` }];
  });
}

async function findGrantGaps(db: Db): Promise<(IsolationGap & { readonly table: string })[]> {
  const { rows } = await sql<{ role: string; table: string; privilege: string; columns: string | null }>`
    select role, "table", privilege, string_agg("column", ', ' order by "column") as columns
    from jsonb_to_recordset(${JSON.stringify(listGrants())}::jsonb)
      as expected (role text, "table" text, privilege text, "column" text)
    left join pg_class on relname = "table" and relnamespace = to_regnamespace(quote_ident(current_schema()))
    left join pg_attribute on attrelid = pg_class.oid and attname = "column" and not attisdropped
    where not coalesce(
      case when "column" is null then has_table_privilege(role, pg_class.oid, privilege)
        else has_column_privilege(role, pg_class.oid, attnum, privilege) end,
      false
    )
    group by role, "table", privilege order by "table", role, privilege`.execute(db);
  return rows.map(({ role, table, privilege, columns }) => {
    const lacking = columns ? `${privilege} (${columns})` : privilege;
    return {
      table,
      description: `the role "${role}" lacks ${lacking} on the table "${table}"`,
      consequence: "statements that need it fail",
      remedy: `grant ${lacking} on ${table} to ${role};`,
    };
  });
}

async function findFunctionGaps(db: Db): Promise<IsolationGap[]> {
  const { rows } = await sql<{ signature: string; role: string | null }>`
    select signature, role from unnest(${Object.keys(functions)}::text[]) signature
    left join unnest(${Object.keys(grants)}::text[]) role on to_regprocedure(signature) is not null
    where to_regprocedure(signature) is null or not has_function_privilege(role, to_regprocedure(signature), 'execute')
    order by 1, 2`.execute(db);
  return rows.map(({ signature, role }) =>
    role === null
      ? {
          description: `the function "${signature}" is missing`,
          // The policies that called it, which are missing too, are differences of their own.
          consequence: "statements that call it fail",
        }
      : {
          description: `the role "${role}" lacks execute on the function "${signature}"`,
          consequence: "statements that call it fail",
          remedy: `grant execute on function ${signature} to ${role};`,
        },
  );
}

async function findTriggerGaps(db: Db): Promise<(IsolationGap & { readonly table: string })[]> {
  const { rows } = await sql<{ name: string; table: string; isEnabled: boolean }>`
    select tgname as name, relname as table, tgenabled in ('O', 'A') as "isEnabled"
    from pg_trigger join pg_class on pg_class.oid = tgrelid
    where relnamespace = to_regnamespace(quote_ident(current_schema())) and not tgisinternal`.execute(db);
  return Object.entries(triggers).flatMap(([name, { table, consequence }]) => {
    const found = rows.find((row) => row.name === name && row.table === table);
    if (found?.isEnabled) return [];
    return {
      table,
      ...(consequence !== undefined && { consequence }),
      ...(found
        ? {
            description: `the trigger "${name}" of the table "${table}" is disabled`,
            remedy: `alter table ${table} enable trigger ${name};`,
          }
        : { description: `the table "${table}" lacks the trigger "${name}"` }),
    };
  });
}
