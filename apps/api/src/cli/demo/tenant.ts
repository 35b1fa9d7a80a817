import { randomBytes } from "node:crypto";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { createId, type WorkspaceId } from "@latchkey/db/ids";
import { writeKeyHistory } from "@latchkey/db/key-history";
import { insertPastRows, type PastRow, toHex } from "@latchkey/db/past-rows";
import type { Db, Trx } from "@latchkey/db/schema";
import { enterWorkspace } from "@latchkey/db/workspace-scope";
import { createSlug } from "../../domain/slug.ts";
import { createAuditEvents } from "./audit-log.ts";
import { createKeys, type DemoKey } from "./keys.ts";
import { createPeople, type Person } from "./people.ts";
import type { Random } from "./random.ts";
import { createKeyUse, type KeyUse } from "./usage.ts";
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

interface Instance {
  /** As `latchkey_tenant`. */
  readonly db: Db;
  /** As `latchkey_admission`, the only role that writes the history of keys. */
  readonly historyDb: Db;
  readonly passwordHash: string;
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
  await db.transaction().execute(async (trx) => {
    await insertPeople(trx, people, instance);
    const workspaceTrx = await enterWorkspace(trx, openAsOperator(workspaceId));
    await insertWorkspaceRows(workspaceTrx, { ...tenant, from, plan });
    await insertKeys(workspaceTrx, tenant);
    await insertResources(workspaceTrx, tenant, instance);
    const events = createAuditEvents(random, { ...tenant, now, name: plan.name, count: plan.eventCount });
    await insertPastRows(workspaceTrx, "audit_events", events);
    await insertPastRows(workspaceTrx, "security_events", createSignIns(random, people, now));
    for (const [table, rows] of createWebhookRows(random, { ...tenant, ...instance, events }))
      await insertPastRows(workspaceTrx, table, rows);
  });
  await writeUsage(historyDb, uses);
  return { workspaceId, people };
}

async function insertPeople(
  trx: Trx,
  people: readonly Person[],
  { passwordHash, now }: Instance,
): Promise<void> {
  const users = people.map(({ id, name, email, joinedAt }) => ({
    id,
    name,
    email,
    email_verified: true,
    created_at: joinedAt,
    updated_at: joinedAt,
  }));
  // The first account of an instance becomes its operator; it must not share a statement with others.
  await insertPastRows(trx, "users", users.slice(0, 1));
  await insertPastRows(trx, "users", users.slice(1));
  const accounts = people.map(({ id, joinedAt }) => ({
    id: createId("account"),
    user_id: id,
    account_id: id,
    provider_id: "credential",
    password: passwordHash,
    created_at: joinedAt,
    updated_at: joinedAt,
  }));
  await insertPastRows(trx, "accounts", accounts);
  const sessions = people.slice(4, 60).map(({ id, address, userAgent }, index) => {
    const startedAt = new Date(now.getTime() - ((index % 20) + 1) * dayMs);
    return {
      id: createId("session"),
      user_id: id,
      token: randomBytes(24).toString("base64url"),
      expires_at: new Date(now.getTime() + 7 * dayMs),
      ip_address: address,
      user_agent: userAgent,
      created_at: startedAt,
      updated_at: startedAt,
      last_used_at: startedAt,
    };
  });
  await insertPastRows(trx, "sessions", sessions);
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
}

/** Adds invitations, a policy for API keys, a blocked key, an offer of the ownership and passkeys. */
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
  const passkeys: readonly PastRow<"passkeys">[] = people.slice(4, 40).map(({ id, joinedAt }) => ({
    id: createId("passkey"),
    user_id: id,
    credential_id: randomBytes(16).toString("base64url"),
    public_key: toHex(randomBytes(77)),
    sign_count: 0,
    transports: ["internal"],
    name: "Laptop",
    created_at: joinedAt,
  }));
  await insertPastRows(trx, "passkeys", passkeys);
}

/** The last sign-ins of each person, some with a wrong password. */
function createSignIns(
  random: Random,
  people: readonly Person[],
  now: Date,
): readonly PastRow<"security_events">[] {
  return people.flatMap(({ id, address, userAgent, joinedAt }) =>
    Array.from({ length: random.integer(1, 8) }, () => ({
      user_id: id,
      id: createId("securityEvent"),
      occurred_at: random.time(joinedAt, now),
      action: random.weighted({ "sign-in.succeeded": 9, "sign-in.failed": 1 }),
      actor_kind: "session" as const,
      address,
      user_agent: userAgent,
    })),
  );
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
