import { openAsOperator } from "@latchkey/auth/workspace-access";
import { createId, type WorkspaceId } from "@latchkey/db/ids";
import { insertPastRows } from "@latchkey/db/past-rows";
import type { Db, Trx } from "@latchkey/db/schema";
import { enterWorkspace } from "@latchkey/db/workspace-scope";
import { writeKeyHistory } from "@latchkey/db/write-key-history";
import { writeKeyspaceHistory } from "@latchkey/db/write-keyspace-history";
import { createSlug } from "../../domain/slug.ts";
import { type DemoSecrets, insertAccountRows, insertUsers } from "./accounts.ts";
import { createAuditEvents } from "./audit-log.ts";
import { insertIssuedKeys } from "./issued-keys.ts";
import { createKeys, type DemoKey } from "./keys.ts";
import { createPeople, type Person } from "./people.ts";
import type { Random } from "./random.ts";
import { createKeyUse, type KeyUse } from "./usage.ts";
import { createKeyspaceHistory } from "./verifications.ts";
import { createWebhookRows } from "./webhooks.ts";

export interface TenantPlan {
  readonly name: string;
  readonly description: string;
  /** The domain of the email addresses. */
  readonly domain: string;
  readonly memberCount: number;
  readonly eventCount: number;
}

export interface Tenant {
  readonly workspaceId: WorkspaceId;
  readonly people: readonly Person[];
}

interface Instance extends DemoSecrets {
  /** As `latchkey_tenant`. */
  readonly db: Db;
  /** As `latchkey_admission`, the only role that writes the history of keys. */
  readonly historyDb: Db;
  readonly sealWebhookSecret: (owner: string) => Buffer;
  readonly now: Date;
}

const dayMs = 86_400_000;
const ageDays = 400;
/** How many rows of usage one transaction adds. */
const usagePerTransaction = 5_000;

/** Creates a workspace whose members, API keys, logs and statistics look as if it had been used for a year. */
export async function createTenant(random: Random, instance: Instance, plan: TenantPlan): Promise<Tenant> {
  const { db, historyDb, now } = instance;
  const from = new Date(now.getTime() - ageDays * dayMs);
  const people = createPeople(random, { count: plan.memberCount, domain: plan.domain, from, to: now });
  const workspaceId = createId("workspace");
  const keys = createKeys(random, { people, workspaceId, now });
  const uses = keys.map((key) => createKeyUse(random, { key, workspaceId, now }));
  const tenant = { workspaceId, people, keys, uses };
  const issuedKeys = await db.transaction().execute(async (trx) => {
    await insertUsers(trx, people, instance);
    const workspaceTrx = await enterWorkspace(trx, openAsOperator(workspaceId));
    await insertWorkspaceRows(workspaceTrx, { ...tenant, from, plan });
    await insertKeys(workspaceTrx, tenant);
    await insertResources(workspaceTrx, tenant, instance);
    const issued = await insertIssuedKeys(workspaceTrx, random, { workspaceId, from, now });
    const events = createAuditEvents(random, { ...tenant, now, name: plan.name, count: plan.eventCount });
    await insertPastRows(workspaceTrx, "audit_events", events);
    await insertAccountRows(workspaceTrx, random, { ...tenant, ...instance, workspaceName: plan.name });
    for (const [table, rows] of createWebhookRows(random, { ...tenant, ...instance, events }))
      await insertPastRows(workspaceTrx, table, rows);
    return issued;
  });
  await writeUsage(historyDb, uses);
  await writeKeyspaceHistory(historyDb, createKeyspaceHistory(random, { keys: issuedKeys, now }));
  return { workspaceId, people };
}

interface Contents extends Tenant {
  readonly keys: readonly DemoKey[];
  readonly uses: readonly KeyUse[];
}

async function insertWorkspaceRows(
  trx: Trx,
  { workspaceId, people, from, plan }: Contents & { from: Date; plan: TenantPlan },
): Promise<void> {
  const { name, description } = plan;
  const workspace = {
    id: workspaceId,
    name,
    description,
    slug: createSlug(name),
    created_at: from,
    updated_at: from,
  };
  await insertPastRows(trx, "workspaces", [workspace]);
  const members = people.map(({ id, role, joinedAt }) => ({
    workspace_id: workspaceId,
    user_id: id,
    role,
    created_at: joinedAt,
  }));
  await insertPastRows(trx, "members", members);
}

async function insertKeys(trx: Trx, { keys, uses }: Contents): Promise<void> {
  await insertPastRows(
    trx,
    "api_keys",
    keys.map(({ row }) => row),
  );
  const counters = keys.map(({ id }, index) => ({
    key_id: id,
    use_count: uses[index]?.useCount ?? 0,
    last_used_at: uses[index]?.lastUsedAt ?? null,
  }));
  await insertPastRows(trx, "key_counters", counters);
  const formerSecrets = keys.flatMap(({ formerSecret }) => formerSecret ?? []);
  await insertPastRows(trx, "retired_secrets", formerSecrets);
}

/** Adds invitations, an API key policy, a blocked key and an ownership offer. */
async function insertResources(
  trx: Trx,
  { workspaceId, people, keys }: Contents,
  { now }: Instance,
): Promise<void> {
  const [owner, admin] = people;
  const domain = owner?.email.split("@")[1];
  const invitations = ["candidate", "contractor", "auditor", "intern"].map((name, index) => ({
    workspace_id: workspaceId,
    id: createId("invitation"),
    email: `${name}@${domain}`,
    role: index === 2 ? ("viewer" as const) : ("member" as const),
    invited_by: admin?.id ?? null,
    is_emailed: false,
    created_at: new Date(now.getTime() - (index + 1) * 3 * dayMs),
    expires_at: new Date(now.getTime() + (7 - (index + 1) * 3) * dayMs),
  }));
  await insertPastRows(trx, "invitations", invitations);
  await insertPastRows(trx, "api_key_policies", [{ workspace_id: workspaceId, max_idle_days: 180 }]);
  const [, blocked] = keys.filter(({ profile }) => profile === "unused");
  const block = blocked && {
    workspace_id: workspaceId,
    key_id: blocked.id,
    blocked_at: now,
    blocked_by: admin?.id ?? null,
  };
  if (block) await insertPastRows(trx, "workspace_key_access", [block]);
  const offer = owner &&
    admin && {
      workspace_id: workspaceId,
      from_user_id: owner.id,
      to_user_id: admin.id,
      created_at: now,
      expires_at: new Date(now.getTime() + 7 * dayMs),
    };
  if (offer) await insertPastRows(trx, "ownership_transfers", [offer]);
}

async function writeUsage(historyDb: Db, uses: readonly KeyUse[]): Promise<void> {
  const empty = { usage: [], addresses: [], rejections: [], secrets: [] };
  const usage = uses.flatMap(({ history }) => history.usage);
  for (let start = 0; start < usage.length; start += usagePerTransaction)
    await writeKeyHistory(historyDb, { ...empty, usage: usage.slice(start, start + usagePerTransaction) });
  await writeKeyHistory(historyDb, {
    ...empty,
    addresses: uses.flatMap(({ history }) => history.addresses),
    rejections: uses.flatMap(({ history }) => history.rejections),
  });
}
