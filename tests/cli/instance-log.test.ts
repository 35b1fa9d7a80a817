import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProgram } from "@latchkey/api/program";
import { decodeId } from "@latchkey/db/ids";
import { type InstanceEvent, listInstanceEvents } from "@latchkey/db/instance-events";
import type { Db } from "@latchkey/db/schema";
import { openTestPool } from "@latchkey/db/testing/test-connection";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, signUp } from "../support/account.ts";
import { getMembership } from "../support/membership.ts";
import { connectionTo } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectResult } from "./expect-result.ts";

// Every command that changes something is run once, in steps, and adds its events to the instance log.

const password = "twelve characters or more";
const grace = "grace@example.com";

let instance: TestInstance;
/** For the backup. */
let directory: string;
let db: Db;
let ada: Account;
/** IDs by name, as the command prints them. */
const ids: Record<string, string> = {};

beforeAll(async () => {
  instance = await createPreparedInstance();
  directory = await mkdtemp(join(tmpdir(), "latchkey-"));
  await writeFile(join(directory, "keys.csv"), `hash\n${"ab".repeat(32)}\n`);
  const { baseUrl } = await instance.startInProcess();
  ada = await signUp(baseUrl);
  ids.home = (await getMembership(baseUrl, ada)).workspaceId;
  db = openTestPool(await connectionTo(instance.cluster), { applicationName: "test" });
  const { id } = await db
    .selectFrom("users")
    .select("id")
    .where("email", "=", ada.email)
    .executeTakeFirstOrThrow();
  const identity = { issuer: "https://id.example.com/realms/one", subject: "ada" };
  await db
    .insertInto("identities")
    .values({ ...identity, user_id: id, email: null, last_used_at: null })
    .execute();
});

afterAll(async () => {
  await db?.destroy();
  await instance?.close();
  if (directory) await rm(directory, { recursive: true });
});

/** The value of an ID that an earlier step has stored. */
function idOf(name: string): string {
  const id = ids[name];
  if (id === undefined) throw new Error(`No step has stored the ID ${name}.`);
  return id;
}

const inHome = () => ["--workspace", idOf("home")];

interface Step {
  readonly command: string;
  readonly args: () => readonly string[];
  readonly input?: string;
  /** The actions that it adds to the log, newest first. */
  readonly actions: readonly string[];
  /** The members of the printed result to keep for later steps, by the name of the ID. */
  readonly keeps?: Readonly<Record<string, string>>;
  /** What its newest event contains. */
  readonly event?: () => object;
}

const steps: readonly Step[] = [
  {
    command: "user create",
    args: () => ["--email", "grace@example.org", "--name", "Grace", "--password-stdin"],
    input: password,
    actions: ["user.created", "workspace.created"],
    keeps: { graceId: "userId", gracesHome: "workspaceId" },
  },
  {
    command: "user email",
    args: () => ["grace@example.org", "--email", grace],
    actions: ["account.email-changed"],
  },
  { command: "user reset-link", args: () => [grace], actions: ["password.reset-link-created"] },
  { command: "user reset-factors", args: () => [grace], actions: ["second-factors.reset"] },
  {
    command: "user end-sessions",
    args: () => [ada.email],
    actions: ["session.ended"],
    event: () => ({ user: { email: ada.email }, after: { count: 1 } }),
  },
  {
    command: "user unlink-identity",
    args: () => [ada.email],
    actions: ["identity.unlinked"],
    event: () => ({ user: { email: ada.email }, before: { provider: "id.example.com" } }),
  },
  { command: "user disable", args: () => [grace], actions: ["user.disabled"] },
  { command: "user enable", args: () => [grace], actions: ["user.enabled"] },
  { command: "operator grant", args: () => [grace], actions: ["operator.granted"] },
  { command: "operator revoke", args: () => [grace], actions: ["operator.revoked"] },
  {
    command: "workspace create",
    args: () => ["--owner", ada.email, "--name", "Doomed"],
    actions: ["workspace.created"],
    keeps: { doomed: "id" },
  },
  {
    command: "workspace edit",
    args: () => [idOf("doomed"), "--name", "Condemned"],
    actions: ["workspace.renamed"],
  },
  {
    command: "workspace set-policy",
    args: () => [idOf("doomed"), "--max-idle", "30"],
    actions: ["api-key-policy.changed"],
  },
  { command: "workspace disable", args: () => [idOf("doomed")], actions: ["workspace.disabled"] },
  { command: "workspace enable", args: () => [idOf("doomed")], actions: ["workspace.enabled"] },
  {
    command: "member add",
    args: () => ["--workspace", idOf("doomed"), "--user", grace, "--role", "viewer"],
    actions: ["member.added"],
  },
  {
    command: "member role",
    args: () => ["--workspace", idOf("doomed"), "--user", grace, "--role", "admin"],
    actions: ["member.role-changed"],
    event: () => ({ user: { email: grace }, before: { role: "viewer" }, after: { role: "admin" } }),
  },
  {
    command: "workspace transfer",
    args: () => [idOf("doomed"), "--to", grace],
    actions: ["member.role-changed", "member.role-changed", "ownership.transferred"],
  },
  {
    command: "member remove",
    args: () => ["--workspace", idOf("doomed"), "--user", ada.email],
    actions: ["member.removed"],
  },
  {
    command: "audit export",
    args: () => [idOf("doomed"), "--format", "ndjson", "--action", "member.removed"],
    actions: ["audit-log.exported"],
    event: () => ({
      workspace: { name: "Condemned" },
      after: { format: "ndjson", action: "member.removed" },
    }),
  },
  {
    command: "workspace delete",
    args: () => [idOf("doomed"), "--confirm", "doomed"],
    actions: ["workspace.deleted"],
  },
  {
    command: "key create",
    args: () => ["--user", ada.email, "--name", "CI"],
    actions: ["key.created"],
    keeps: { key: "id" },
  },
  {
    command: "key edit",
    args: () => [idOf("key"), "--name", "Deploys"],
    actions: ["key.renamed"],
  },
  {
    command: "member replace-keys",
    args: () => [...inHome(), "--user", ada.email, "--name", "Replacement"],
    actions: ["key.created", "service-account.created"],
  },
  { command: "key rotate", args: () => [idOf("key")], actions: ["key.rotated"] },
  {
    command: "key revoke-old-secrets",
    args: () => [idOf("key")],
    actions: ["key.former-secrets-revoked"],
  },
  { command: "key disable", args: () => [idOf("key")], actions: ["key.disabled"] },
  { command: "key enable", args: () => [idOf("key")], actions: ["key.enabled"] },
  {
    command: "key block",
    args: () => [idOf("key"), ...inHome()],
    actions: ["key.blocked"],
    event: () => ({
      user: { email: ada.email },
      workspace: { id: decodeId("workspace", idOf("home")) },
      keyId: decodeId("key", idOf("key")),
    }),
  },
  {
    command: "key unblock",
    args: () => [idOf("key"), ...inHome()],
    actions: ["key.unblocked"],
    event: () => ({ keyId: decodeId("key", idOf("key")), before: { isBlocked: true } }),
  },
  { command: "key delete", args: () => [idOf("key")], actions: ["key.deleted"] },
  {
    command: "service-account create",
    args: () => [...inHome(), "--name", "Deployer", "--role", "viewer"],
    actions: ["service-account.created"],
    keeps: { account: "userId" },
  },
  {
    command: "service-account edit",
    args: () => [idOf("account"), "--name", "Releaser"],
    actions: ["service-account.renamed"],
  },
  {
    command: "service-account disable",
    args: () => [idOf("account")],
    actions: ["service-account.disabled"],
  },
  {
    command: "service-account enable",
    args: () => [idOf("account")],
    actions: ["service-account.enabled"],
  },
  {
    command: "service-account delete",
    args: () => [idOf("account")],
    actions: ["service-account.deleted"],
  },
  {
    command: "invitation create",
    args: () => [...inHome(), "--email", "guest@example.com", "--role", "viewer"],
    actions: ["invitation.created"],
    keeps: { invitation: "id" },
  },
  {
    command: "invitation resend",
    args: () => [idOf("invitation"), ...inHome()],
    actions: ["invitation.resent"],
  },
  {
    command: "invitation revoke",
    args: () => [idOf("invitation"), ...inHome()],
    actions: ["invitation.revoked"],
  },
  {
    command: "webhook create",
    args: () => [...inHome(), "--url", "https://example.invalid/hook"],
    actions: ["webhook.created"],
    keeps: { webhook: "id" },
  },
  {
    command: "webhook edit",
    args: () => [idOf("webhook"), ...inHome(), "--description", "Our SIEM"],
    actions: ["webhook.changed"],
    event: () => ({ after: { webhookId: idOf("webhook"), description: "Our SIEM" } }),
  },
  {
    command: "webhook rotate",
    args: () => [idOf("webhook"), ...inHome()],
    actions: ["webhook.secret-rotated"],
    event: () => ({ after: { webhookId: idOf("webhook"), overlapSeconds: 86_400 } }),
  },
  {
    command: "webhook test",
    args: () => [idOf("webhook"), ...inHome()],
    actions: ["webhook.tested"],
    keeps: { delivery: "id" },
    event: () => ({ after: { webhookId: idOf("webhook") } }),
  },
  {
    command: "webhook redeliver",
    args: () => [idOf("webhook"), ...inHome(), "--delivery", idOf("delivery")],
    actions: ["webhook.redelivered"],
    event: () => ({ after: { webhookId: idOf("webhook"), deliveryId: idOf("delivery") } }),
  },
  {
    command: "webhook disable",
    args: () => [idOf("webhook"), ...inHome()],
    actions: ["webhook.disabled"],
    event: () => ({ after: { webhookId: idOf("webhook") } }),
  },
  {
    command: "webhook enable",
    args: () => [idOf("webhook"), ...inHome()],
    actions: ["webhook.enabled"],
    event: () => ({ after: { webhookId: idOf("webhook") } }),
  },
  {
    command: "webhook delete",
    args: () => [idOf("webhook"), ...inHome()],
    actions: ["webhook.deleted"],
    event: () => ({ before: { host: "example.invalid", webhookId: idOf("webhook") } }),
  },
  {
    command: "keyspace create",
    args: () => [...inHome(), "--name", "Production", "--prefix", "acme"],
    actions: ["keyspace.created"],
    keeps: { keyspace: "id" },
  },
  {
    command: "issued-key create",
    args: () => ["--keyspace", idOf("keyspace"), "--name", "Acme"],
    actions: ["issued-key.created"],
    keeps: { issuedKey: "id" },
  },
  {
    command: "issued-key rotate",
    args: () => [idOf("issuedKey")],
    actions: ["issued-key.rotated"],
  },
  {
    command: "issued-key revoke-old-secrets",
    args: () => [idOf("issuedKey")],
    actions: ["issued-key.former-secrets-revoked"],
  },
  {
    command: "issued-key disable",
    args: () => [idOf("issuedKey")],
    actions: ["issued-key.disabled"],
  },
  {
    command: "issued-key enable",
    args: () => [idOf("issuedKey")],
    actions: ["issued-key.enabled"],
  },
  {
    command: "issued-key delete",
    args: () => [idOf("issuedKey")],
    actions: ["issued-key.deleted"],
  },
  {
    command: "import keys",
    args: () => [join(directory, "keys.csv"), "--keyspace", idOf("keyspace")],
    actions: ["keyspace.keys-imported"],
  },
  {
    command: "backup",
    args: () => [join(directory, "instance.backup")],
    actions: ["backup.created"],
  },
  {
    command: "user delete",
    args: () => [grace, "--confirm", grace],
    actions: ["user.deleted", "workspace.deleted"],
  },
];

/** The commands that change no data of an instance that has users. The restored database has the event of a restore. */
const unrecorded = [
  ...["migrate", "restore", "demo"],
  ...[
    "user list",
    "user sessions",
    "user security-log",
    "key list",
    "key show",
    "workspace list",
    "workspace keys",
    "workspace policy",
  ],
  ...["member list", "service-account list", "invitation list", "webhook list", "operator list"],
  ...["keyspace list", "verify"],
  ...["webhook deliveries", "instance show", "instance log"],
];

interface CatalogEntry {
  readonly name: () => string;
  readonly commands: readonly CatalogEntry[];
}

function listCommands({ commands }: CatalogEntry): string[] {
  return commands
    .filter((command) => command.name() !== "help")
    .flatMap((command) => {
      const names = listCommands(command);
      return names.length > 0 ? names.map((name) => `${command.name()} ${name}`) : [command.name()];
    });
}

test("every command is either run below or only reads", () => {
  const loadEnv = () => Promise.reject(new Error("No command is run."));
  const catalog = listCommands(createProgram({ ...process, loadEnv }));
  expect([...steps.map(({ command }) => command), ...unrecorded].toSorted()).toEqual(catalog.toSorted());
});

const page = { direction: "desc", limit: 10, filter: {} } as const;
let lastId: string | undefined;

/** The events since the previous call, newest first. */
async function readNewEvents(): Promise<readonly InstanceEvent[]> {
  const events = await listInstanceEvents(db, page);
  const end = events.findIndex(({ id }) => id === lastId);
  lastId = events[0]?.id;
  return end === -1 ? events : events.slice(0, end);
}

beforeAll(async () => {
  await readNewEvents();
});

test.each(steps)("instance log has what $command does", async ({ command, actions, ...step }) => {
  // The format of an export isn't changed by --json.
  const args = [...command.split(" "), ...step.args()];
  const ending = await instance.command(["--json", ...args], step.input);
  expect(ending).toMatchObject({ status: 0, stderr: "" });
  for (const [name, member] of Object.entries(step.keeps ?? {}))
    ids[name] = String(expectResult(ending)[member]);
  const events = await readNewEvents();
  expect(events.map(({ action }) => action)).toEqual(actions);
  expect(events[0]).toMatchObject({ actorKind: "command", ...step.event?.() });
});
