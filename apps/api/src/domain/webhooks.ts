import { createHash, randomBytes } from "node:crypto";
import type { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import { type Details, isOperatorActing } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import { createId, type DeliveryId, encodeId, type WebhookId } from "@latchkey/db/ids";
import { appendInstanceEvent } from "@latchkey/db/instance-events";
import type { Position } from "@latchkey/db/page";
import type { Db, Trx } from "@latchkey/db/schema";
import type { DeliveryStatus } from "@latchkey/db/schema/webhooks";
import type { Versions } from "@latchkey/db/versions";
import {
  addDelivery,
  type Delivery,
  findDelivery,
  listDeliveries,
  requestDelivery,
} from "@latchkey/db/webhook-deliveries";
import {
  countWebhooks,
  deleteWebhook as deleteRow,
  findWebhook,
  insertWebhook,
  listWebhooks,
  lockWebhook,
  readWebhookSecrets,
  replaceWebhookSecret,
  updateWebhook,
  type Webhook,
  type WebhookFields,
} from "@latchkey/db/webhooks";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { enterToManage } from "./enter-to-manage.ts";
import { type Quotas, requireQuota } from "./quotas.ts";
import { requireChange } from "./require-change.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { addWorkspaceQuotaNotice } from "./workspace-quotas.ts";
import type { Edit } from "./workspaces.ts";

const permission = "webhooks:manage";

/** How many webhooks {@link listEveryWebhook} keeps in memory at a time. */
const webhooksPerPage = 100;

/** What the functions below need of the instance. */
interface WebhookOptions {
  readonly quotas: Quotas;
  readonly webhookSecrets: SealedSecrets;
  /** Whether URLs without TLS are accepted, because messages may be sent to private addresses. */
  readonly allowsPlainWebhooks: boolean;
}

/** A webhook, and its secret if this call created the secret. */
export interface WebhookWithSecret {
  readonly webhook: Webhook;
  readonly secret: string;
}

/** Lists every webhook of a workspace, oldest first. */
export async function* listEveryWebhook(db: Db, scope: WorkspaceScope): AsyncGenerator<Webhook> {
  const order = { sort: "createdAt", direction: "asc", limit: webhooksPerPage } as const;
  let after: Position | undefined;
  do {
    // Ends the transaction before yielding the page, because the consumer may take any amount of time.
    const webhooks = await inWorkspace(db, scope, (trx) => listWebhooks(trx, scope, { ...order, after }));
    yield* webhooks;
    const last = webhooks.length === webhooksPerPage ? webhooks.at(-1) : undefined;
    after = last && { value: last.position, id: last.id };
  } while (after);
}

/** How many deliveries {@link listEveryDelivery} keeps in memory at a time. */
const deliveriesPerPage = 100;

/** Lists every delivery to a webhook of the last 30 days, newest first. @throws {AppError} NOT_FOUND */
export async function* listEveryDelivery(
  db: Db,
  scope: WorkspaceScope,
  filter: { readonly webhookId: WebhookId; readonly status?: DeliveryStatus | undefined },
): AsyncGenerator<Delivery> {
  const order = { sort: "createdAt", direction: "desc", limit: deliveriesPerPage, filter } as const;
  let after: Position | undefined;
  do {
    const deliveries = await inWorkspace(db, scope, async (trx) => {
      await getWebhook(trx, scope, filter.webhookId);
      return await listDeliveries(trx, scope, { ...order, after });
    });
    yield* deliveries;
    const last = deliveries.length === deliveriesPerPage ? deliveries.at(-1) : undefined;
    after = last && { value: last.position, id: last.id };
  } while (after);
}

/** @throws {AppError} NOT_FOUND */
export async function getWebhook(trx: WorkspaceTrx, scope: WorkspaceScope, id: WebhookId): Promise<Webhook> {
  return (await findWebhook(trx, scope, id)) ?? webhookNotFound();
}

/**
 * Adds a webhook to a workspace.
 * @throws {AppError} BAD_REQUEST if the URL has no TLS, UNPROCESSABLE_CONTENT at the quota, FORBIDDEN.
 */
export async function createWebhook(
  trx: Trx,
  edit: Edit,
  fields: WebhookFields,
  options: WebhookOptions,
): Promise<WebhookWithSecret> {
  requireRecentAuthentication(edit.origin);
  requireTls(fields.url, options);
  const { scope, origin } = edit;
  const workspaceTrx = await enterToManage(trx, edit, permission);
  // The lock on the workspace prevents concurrent additions between the count and the insert.
  const quota = "webhooksPerWorkspace";
  const count = await countWebhooks(workspaceTrx, scope);
  requireQuota(options.quotas, quota, count);
  const secret = createSecret();
  const id = createId("webhook");
  const sealed = options.webhookSecrets.seal(id, secret);
  const webhook = await insertWebhook(workspaceTrx, scope, { ...fields, id, secret: sealed });
  await appendAudit(workspaceTrx, scope, origin, {
    action: "webhook.created",
    targetId: webhook.id,
    after: toDetails(fields),
  });
  await addWorkspaceQuotaNotice(workspaceTrx, scope, options.quotas, { quota, count: count + 1 });
  return { webhook, secret };
}

/**
 * Changes a webhook. Changing only the description or disabling it doesn't require recent authentication.
 * @throws {AppError} BAD_REQUEST without a field or without TLS, NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN.
 */
export async function changeWebhook(
  trx: Trx,
  edit: Edit,
  id: WebhookId,
  {
    versions,
    isDisabled,
    ...fields
  }: Partial<WebhookFields> & { readonly isDisabled?: boolean | undefined; readonly versions: Versions },
  options: Pick<WebhookOptions, "allowsPlainWebhooks">,
): Promise<Webhook> {
  requireChange({ ...fields, isDisabled });
  if (fields.url !== undefined) requireTls(fields.url, options);
  const { scope, origin } = edit;
  const workspaceTrx = await enterToManage(trx, edit, permission);
  const before = (await lockWebhook(workspaceTrx, scope, id)) ?? webhookNotFound();
  const isEnabled = isDisabled === false && before.disabledAt !== null;
  const changesTarget = fields.url !== undefined && fields.url !== before.url;
  const changesActions =
    fields.actions !== undefined && JSON.stringify(fields.actions) !== JSON.stringify(before.actions);
  if (isEnabled || changesTarget || changesActions) requireRecentAuthentication(origin);
  const change = { fields, isDisabled, versions };
  const after = await updateWebhook(workspaceTrx, scope, id, change);
  if (!after) throw new AppError("PRECONDITION_FAILED");
  const target = { targetId: id };
  const [detailsBefore, detailsAfter] = [toDetails(before), toDetails(after)];
  if (JSON.stringify(detailsBefore) !== JSON.stringify(detailsAfter) || changesTarget) {
    const values = { before: detailsBefore, after: detailsAfter };
    await appendAudit(workspaceTrx, scope, origin, { ...target, ...values, action: "webhook.changed" });
  }
  if ((before.disabledAt === null) !== (after.disabledAt === null)) {
    const action = after.disabledAt ? "webhook.disabled" : "webhook.enabled";
    await appendAudit(workspaceTrx, scope, origin, { ...target, action });
  }
  return after;
}

/**
 * Disables or enables a webhook.
 * @throws {AppError} NOT_FOUND, FORBIDDEN
 */
export async function setWebhookDisabled(
  trx: Trx,
  edit: Edit,
  id: WebhookId,
  isDisabled: boolean,
): Promise<Webhook> {
  const options = { allowsPlainWebhooks: false }; // Only a new URL is checked.
  return await changeWebhook(trx, edit, id, { isDisabled, versions: undefined }, options);
}

/** @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN */
export async function deleteWebhook(trx: Trx, edit: Edit, id: WebhookId, versions: Versions): Promise<void> {
  const { scope, origin } = edit;
  const workspaceTrx = await enterToManage(trx, edit, permission);
  const before = (await lockWebhook(workspaceTrx, scope, id)) ?? webhookNotFound();
  if (!(await deleteRow(workspaceTrx, scope, id, versions))) throw new AppError("PRECONDITION_FAILED");
  await appendAudit(workspaceTrx, scope, origin, {
    action: "webhook.deleted",
    targetId: id,
    before: toDetails(before),
  });
}

/**
 * Replaces the secret of a webhook.
 * @param rotation.overlapSeconds how long messages are also signed with the old secret.
 * @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN
 */
export async function rotateWebhookSecret(
  trx: Trx,
  edit: Edit,
  id: WebhookId,
  rotation: { readonly overlapSeconds: number; readonly versions: Versions },
  { webhookSecrets }: Pick<WebhookOptions, "webhookSecrets">,
): Promise<WebhookWithSecret> {
  requireRecentAuthentication(edit.origin);
  const { scope, origin } = edit;
  const { overlapSeconds, versions } = rotation;
  const workspaceTrx = await enterToManage(trx, edit, permission);
  const before = (await lockWebhook(workspaceTrx, scope, id)) ?? webhookNotFound();
  if (versions && !versions.includes(before.version)) throw new AppError("PRECONDITION_FAILED");
  const secret = createSecret();
  const sealed = webhookSecrets.seal(id, secret);
  const webhook = await replaceWebhookSecret(workspaceTrx, scope, id, { secret: sealed, overlapSeconds });
  await appendAudit(workspaceTrx, scope, origin, {
    action: "webhook.secret-rotated",
    targetId: id,
    after: { overlapSeconds },
  });
  return { webhook, secret };
}

/** SHA-256 of a secret, to recognize it in a retry. */
export function digestWebhookSecret(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/**
 * Replaces the secret that a request issued, for a retry of that request whose response was lost.
 * @param issued.hash the digest of that secret.
 * @returns undefined if the webhook was deleted, or has another secret.
 */
export async function reissueWebhookSecret(
  trx: Trx,
  edit: Edit,
  issued: { readonly id: WebhookId | undefined; readonly hash: Buffer },
  { webhookSecrets }: Pick<WebhookOptions, "webhookSecrets">,
): Promise<WebhookWithSecret | undefined> {
  if (!issued.id) return undefined;
  const { scope } = edit;
  const workspaceTrx = await enterToManage(trx, edit, permission);
  if (!(await lockWebhook(workspaceTrx, scope, issued.id))) return undefined;
  const [current] = await readWebhookSecrets(workspaceTrx, scope, issued.id);
  if (!current || !digestWebhookSecret(webhookSecrets.open(issued.id, current)).equals(issued.hash))
    return undefined;
  const secret = createSecret();
  const replacement = { secret: webhookSecrets.seal(issued.id, secret), overlapSeconds: undefined };
  return { webhook: await replaceWebhookSecret(workspaceTrx, scope, issued.id, replacement), secret };
}

/**
 * Sends a test message to a webhook.
 * @throws {AppError} NOT_FOUND, CONFLICT if it is disabled, FORBIDDEN.
 */
export async function testWebhook(trx: Trx, edit: Edit, id: WebhookId): Promise<Delivery> {
  const { scope } = edit;
  const workspaceTrx = await enterToManage(trx, edit, permission);
  const webhook = (await lockWebhook(workspaceTrx, scope, id)) ?? webhookNotFound();
  requireEnabled(webhook);
  const delivery = { webhookId: id, eventId: null, action: "webhook.test" } as const;
  await recordSending(workspaceTrx, edit, { action: "webhook.tested", id });
  return await getDelivery(workspaceTrx, scope, {
    webhookId: id,
    id: await addDelivery(workspaceTrx, scope, delivery),
  });
}

/**
 * Sends a message again, whatever the outcome of its earlier attempts.
 * @throws {AppError} NOT_FOUND, CONFLICT if the webhook is disabled, FORBIDDEN.
 */
export async function redeliver(
  trx: Trx,
  edit: Edit,
  path: { readonly webhookId: WebhookId; readonly id: DeliveryId },
): Promise<Delivery> {
  const { scope } = edit;
  const workspaceTrx = await enterToManage(trx, edit, permission);
  const webhook = (await lockWebhook(workspaceTrx, scope, path.webhookId)) ?? webhookNotFound();
  await getDelivery(workspaceTrx, scope, path);
  requireEnabled(webhook);
  await requestDelivery(workspaceTrx, scope, path);
  const after = { deliveryId: encodeId("delivery", path.id) };
  await recordSending(workspaceTrx, edit, { action: "webhook.redelivered", id: path.webhookId, after });
  return await getDelivery(workspaceTrx, scope, path);
}

/** Records a message that an operator sends. It changes nothing in the workspace, so the audit log doesn't have it. */
async function recordSending(
  trx: WorkspaceTrx,
  { scope, origin }: Edit,
  {
    action,
    id,
    after,
  }: {
    readonly action: "webhook.tested" | "webhook.redelivered";
    readonly id: WebhookId;
    readonly after?: Details;
  },
): Promise<void> {
  if (!isOperatorActing(origin.actor)) return;
  const { workspaceId } = scope;
  const details = { ...after, webhookId: encodeId("webhook", id) };
  await appendInstanceEvent(trx, origin, { action, workspaceId, after: details });
}

async function getDelivery(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { webhookId, id }: { readonly webhookId: WebhookId; readonly id: DeliveryId },
): Promise<Delivery> {
  const delivery = await findDelivery(trx, scope, id);
  if (delivery?.webhookId === webhookId) return delivery;
  throw new AppError("NOT_FOUND", { message: "There is no such delivery." });
}

/** Standard Webhooks specifies a prefix and 24 to 64 random bytes in base64. */
export function createSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

/** For the audit log: without the path and query of the URL, which often contain a secret. */
function toDetails({ url, description, actions }: WebhookFields): Details {
  return { host: new URL(url).host, description, actions: actions?.join(", ") ?? null };
}

/** @throws {AppError} BAD_REQUEST */
function requireTls(url: string, { allowsPlainWebhooks }: Pick<WebhookOptions, "allowsPlainWebhooks">): void {
  if (allowsPlainWebhooks || url.startsWith("https:")) return;
  const message = "Enter a URL that starts with https://.";
  throw new AppError("BAD_REQUEST", { issues: [{ path: "url", code: "invalid_format", message }] });
}

/** @throws {AppError} CONFLICT */
function requireEnabled({ disabledAt }: Webhook): void {
  if (!disabledAt) return;
  throw new AppError("CONFLICT", { message: "This webhook is disabled. Enable it first." });
}

function webhookNotFound(): never {
  throw new AppError("NOT_FOUND", { message: "There is no such webhook." });
}
