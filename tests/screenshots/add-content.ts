import { decodeId } from "@latchkey/db/ids";
import type { Page } from "playwright-core";
import { getWorkspace, proceduresOf } from "../e2e/call.ts";
import { open } from "../support/inspection.ts";
import { connectionTo } from "../support/postmaster.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { callOpenApi, visitor } from "../support/visitor.ts";
import { addKeyUsage } from "./add-key-usage.ts";
import { addKeyspaces, type KeyspaceContent } from "./add-keyspaces.ts";

const people = [
  ["Grace Hopper", "grace@example.com", "admin"],
  ["Linus Torvalds", "linus.benedict.torvalds@kernel-maintainers.example.com", "member"],
  ["Margaret Elaine Heafield Hamilton", "margaret@example.com", "viewer"],
] as const;

/** What the pictures show. */
export interface Content extends KeyspaceContent {
  /** The slug of the workspace. */
  readonly slug: string;
  /** The slug of a workspace in which nothing was created. */
  readonly emptySlug: string;
  /** The slug of a workspace that requires a second factor. */
  readonly requiringSlug: string;
  /** The slug of a workspace that an operator disabled. */
  readonly disabledSlug: string;
  readonly keyId: string;
  readonly disabledId: string;
  /** A key with a rejected request and restrictions. */
  readonly limitedId: string;
  readonly expiredId: string;
  readonly webhookId: string;
  readonly requestId: string;
  readonly serviceAccountId: string;
  /** The path with which a person opens an invitation. */
  readonly invitationPath: string;
}

/** Makes a workspace that has been used for a day, with members and keys in every state. */
export async function addContent(
  page: Page,
  { instance, baseUrl }: { readonly instance: TestInstance; readonly baseUrl: string },
): Promise<Content> {
  const runCommand = async (args: readonly string[]) => {
    const { status, stderr } = await instance.command(args, visitor.password);
    if (status !== 0) throw new Error(stderr);
  };
  const { id: workspaceId, slug } = await getWorkspace(page);
  for (const [name, email, role] of people) {
    await runCommand(["user", "create", "--email", email, "--name", name, "--password-stdin"]);
    await runCommand(["member", "add", "--workspace", workspaceId, "--user", email, "--role", role]);
  }
  await runCommand(["key", "create", "--user", "grace@example.com", "--name", "Grafana"]);
  const { apiKeys, invitations, serviceAccounts, webhooks, workspaces } = proceduresOf(page);
  const { id: webhookId } = await webhooks.create.mutate({
    workspaceId,
    url: "https://events.example.com/latchkey",
    description: "The archive of security events",
  });
  await webhooks.test.mutate({ workspaceId, id: webhookId });
  const { userId: serviceAccountId } = await serviceAccounts.create.mutate({
    workspaceId,
    name: "Nightly export",
    role: "member",
  });
  const invited = await invitations.create.mutate({ workspaceId, email: "alan@example.com", role: "member" });
  const requiring = await workspaces.create.mutate({ name: "Production" });
  const empty = await workspaces.create.mutate({ name: "Staging" });
  const archive = await workspaces.create.mutate({ name: "Archive" });
  await runCommand(["workspace", "disable", archive.id]);
  // Notices about a user's own role.
  const grace = ["--workspace", empty.id, "--user", "grace@example.com"];
  await runCommand(["member", "add", ...grace, "--role", "owner"]);
  for (const role of ["admin", "owner"]) {
    await runCommand(["member", "role", "--workspace", empty.id, "--user", visitor.email, "--role", role]);
  }
  for (const email of ["ken@example.com", "dorothy.vaughan.of.the.analysis.department@example.com"]) {
    await invitations.create.mutate({ workspaceId, email, role: "member" });
  }
  const inDays = (days: number) => ({ inSeconds: days * 86_400 });
  const made = [
    await apiKeys.create.mutate({ name: "Local development", description: "On a laptop" }),
    await apiKeys.create.mutate({
      name: "Data warehouse export",
      settings: { isReadOnly: true, ipRanges: ["203.0.113.0/24"], expiresAt: inDays(5) },
    }),
    await apiKeys.create.mutate({
      name: "Partner import with a name that is longer than the others",
      description: "Nightly at 02:00 UTC",
      settings: { workspaceIds: [workspaceId], limit: { quota: 1, windowSeconds: 86_400 } },
    }),
    await apiKeys.create.mutate({ name: "Old laptop", settings: { isDisabled: true } }),
    await apiKeys.create.mutate({ name: "Trial", settings: { expiresAt: { inSeconds: 1 } } }),
    await apiKeys.create.mutate({ name: "Deploy pipeline", description: "Releases from CI" }),
  ];
  const [, , limited, disabled, expired, deploy] = made;
  if (!limited || !disabled || !expired || !deploy) throw new Error("A key is missing.");
  const requestId = "partner-import-0412";
  for (let count = 0; count < 2; count += 1) {
    await fetch(`${baseUrl}/open/workspaces/${workspaceId}`, {
      headers: { Authorization: `Bearer ${limited.key}`, "X-Request-Id": requestId },
    });
  }
  await callOpenApi(baseUrl, deploy.key);
  await apiKeys.rotate.mutate({ id: deploy.id, overlapSeconds: 86_400 });
  const database = await open(await connectionTo(instance.cluster));
  let keyspaces: KeyspaceContent;
  try {
    // Otherwise, the owner needs a second factor to require one.
    const requiringId = decodeId("workspace", requiring.id);
    await database.query("update workspaces set requires_second_factor = true where id = $1", [requiringId]);
    await database.query("set role latchkey_admission");
    keyspaces = await addKeyspaces(page, workspaceId, database);
    await addKeyUsage(database, { keyId: deploy.id, workspaceId });
  } finally {
    await database.end();
  }
  return {
    slug,
    keyId: deploy.id,
    disabledId: disabled.id,
    limitedId: limited.id,
    expiredId: expired.id,
    emptySlug: empty.slug,
    webhookId,
    ...keyspaces,
    requestId,
    serviceAccountId,
    invitationPath: new URL(invited.url ?? "").href.slice(baseUrl.length),
    requiringSlug: requiring.slug,
    disabledSlug: archive.slug,
  };
}
