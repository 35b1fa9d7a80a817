import { randomBytes } from "node:crypto";
import { FactorSecrets } from "@latchkey/auth/factor-secrets";
import { hashPassword } from "@latchkey/auth/password";
import { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import { createTotpSecret } from "@latchkey/auth/totp";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { openDatabase } from "@latchkey/db/connection";
import { encodeId, type UserId } from "@latchkey/db/ids";
import { storeNoticeSetting } from "@latchkey/db/notices";
import { analyzeTables } from "@latchkey/db/past-rows";
import { AppError } from "@latchkey/errors";
import { z } from "zod";
import { getAuthSecret, requireAuthSecret } from "../../auth-secret.ts";
import { disableAccount, listAccounts } from "../../domain/accounts.ts";
import { createKey } from "../../domain/api-key-edits.ts";
import { createServiceAccount } from "../../domain/service-accounts.ts";
import { createWebhookSecret } from "../../domain/webhook-secrets.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask, type TaskContext } from "../task.ts";
import { namedPeople } from "./people.ts";
import { createRandom } from "./random.ts";
import { createTenant, type Tenant, type TenantPlan } from "./tenant.ts";

const plans: readonly TenantPlan[] = [
  {
    name: "Northwind Robotics",
    description: "Warehouse robots and the services that steer them.",
    domain: "northwind.example",
    memberCount: 800,
    eventCount: 80_000,
  },
  {
    name: "Harbor Analytics",
    description: "Reports for ports and shipping companies.",
    domain: "harbor.example",
    memberCount: 200,
    eventCount: 20_000,
  },
];

/** How long one statement may take on a slow machine. */
const statementTimeoutMs = 60_000;
const seed = 20_261_125;

export const demoTask = defineTask({
  input: z.strictObject({}),
  canCreate: true,
  perform: async (context) => {
    for await (const { email } of listAccounts(context.db)) {
      const advice = context.env.databaseUrl
        ? "set DATABASE_URL to an empty database"
        : "set DATA_DIR to a new directory";
      const message = `The instance already has users, such as ${email}. The demo needs an empty instance: ${advice}.`;
      throw new AppError("CONFLICT", { message });
    }
    const password = randomBytes(12).toString("base64url");
    const tenants = await createTenants(context, await hashPassword(password));
    for (const tenant of tenants) await changeUsers(context, tenant);
    const key = await createUsableResources(context, tenants);
    const [first, second] = tenants.map(({ people }) =>
      people.slice(0, namedPeople).map(({ email }) => email),
    );
    const [operator = "", admin = "", member = "", viewer = ""] = first ?? [];
    const filled = {
      baseUrl: context.baseUrl,
      password,
      operator,
      admin,
      member,
      viewer,
      otherOwner: second?.[0] ?? "",
      key,
    };
    return itemOf(filled, [
      { label: "URL", text: ({ baseUrl }) => baseUrl },
      { label: "Operator and owner", text: (people) => people.operator },
      { label: "Admin", text: (people) => people.admin },
      { label: "Member", text: (people) => people.member },
      { label: "Viewer", text: (people) => people.viewer },
      { label: "Owner of the other workspace", text: ({ otherOwner }) => otherOwner },
      { label: "Password of each", text: (people) => people.password },
      { label: "API key of the owner", text: (people) => people.key },
    ]);
  },
});

async function createTenants(context: TaskContext, passwordHash: string): Promise<readonly Tenant[]> {
  const { prepared, env } = context;
  requireAuthSecret(env);
  const authSecret = await getAuthSecret(env);
  const secrets = new SealedSecrets(authSecret, "webhook secrets");
  const factorSecrets = new FactorSecrets(authSecret);
  const options = { applicationName: "latchkey demo", maxConnections: 1, statementTimeoutMs };
  await using stack = new AsyncDisposableStack();
  const db = openDatabase(prepared.connection, options);
  stack.defer(() => db.destroy());
  const historyDb = openDatabase(prepared.connection, { ...options, role: "latchkey_admission" });
  stack.defer(() => historyDb.destroy());
  const random = createRandom(seed);
  const sealWebhookSecret = (owner: string): Buffer => secrets.seal(owner, createWebhookSecret());
  const sealTotpSecret = (userId: UserId): Buffer => factorSecrets.encrypt(userId, createTotpSecret());
  const instance = { db, historyDb, passwordHash, sealWebhookSecret, sealTotpSecret, now: new Date() };
  const tenants: Tenant[] = [];
  for (const plan of plans) tenants.push(await createTenant(random, instance, plan));
  // Without statistics of the new rows, Postgres plans some queries badly until autovacuum runs.
  const owner = openDatabase(prepared.connection, { ...options, role: "login" });
  stack.defer(() => owner.destroy());
  await analyzeTables(owner);
  return tenants;
}

/** Turns off emails for some people, and disables one. */
async function changeUsers({ db }: TaskContext, { people }: Tenant): Promise<void> {
  for (const { id } of people.slice(namedPeople, namedPeople + 10))
    await storeNoticeSetting(db, id, { kind: "new-network", inApp: true, byEmail: false });
  const disabled = people.findLast(({ role }) => role === "viewer");
  if (disabled) await disableAccount((work) => db.transaction().execute(work), disabled.id, commandOrigin);
}

/** Creates service accounts, and an API key of the first owner, whose secret it returns. */
async function createUsableResources(
  { db, quotas }: TaskContext,
  tenants: readonly Tenant[],
): Promise<string> {
  const secrets = await db.transaction().execute(async (trx) => {
    const created: string[] = [];
    for (const { workspaceId, people } of tenants) {
      const edit = { scope: openAsOperator(workspaceId), origin: commandOrigin };
      for (const name of ["Deploy pipeline", "Data warehouse"]) {
        const { userId } = await createServiceAccount(trx, edit, { name, role: "member" }, quotas);
        const key = { userId, name, description: "", origin: commandOrigin };
        await createKey(trx, key, quotas);
      }
      for (const { id: userId } of people.slice(0, 1)) {
        const key = {
          userId,
          name: "Quick start",
          description: `Reaches ${encodeId("workspace", workspaceId)}`,
          origin: commandOrigin,
        };
        created.push((await createKey(trx, key, quotas)).secret);
      }
    }
    return created;
  });
  return secrets[0] ?? "";
}
