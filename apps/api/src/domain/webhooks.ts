import type { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import type { Details } from "@latchkey/db/audit-actions";
import { appendAudit } from "@latchkey/db/audit-events";
import { createId, type WebhookId } from "@latchkey/db/ids";
import type { Position } from "@latchkey/db/page";
import type { Db, Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import {
  countWebhooks,
  deleteWebhook as deleteRow,
  findWebhook,
  insertWebhook,
  listWebhooks,
  updateWebhook,
  type Webhook,
  type WebhookFields,
} from "@latchkey/db/webhooks";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import type { Edit } from "./enter-for-edit.ts";
import { enterToManage } from "./enter-to-manage.ts";
import { enterWebhook, webhookNotFound } from "./enter-webhook.ts";
import { isUnchanged } from "./is-unchanged.ts";
import { type Quotas, requireQuota } from "./quotas.ts";
import { requireChange } from "./require-change.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { createWebhookSecret, type WebhookWithSecret } from "./webhook-secrets.ts";
import { addWorkspaceQuotaNotice } from "./workspace-quotas.ts";

/** How many webhooks {@link listEveryWebhook} keeps in memory at a time. */
const webhooksPerPage = 100;

/** What the functions below need of the instance. */
interface WebhookOptions {
  readonly quotas: Quotas;
  readonly webhookSecrets: SealedSecrets;
  /** Whether URLs without TLS are accepted, because messages may be sent to private addresses. */
  readonly allowsPlainWebhooks: boolean;
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
  const workspaceTrx = await enterToManage(trx, edit, "webhooks:manage");
  // The lock on the workspace prevents concurrent additions between the count and the insert.
  const quota = "webhooksPerWorkspace";
  const count = await countWebhooks(workspaceTrx, scope);
  requireQuota(options.quotas, quota, count);
  const secret = createWebhookSecret();
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
  const { workspaceTrx, webhook: before } = await enterWebhook(trx, edit, id);
  const row = { ...before, isDisabled: before.disabledAt !== null };
  if (isUnchanged(row, { versions, changes: { ...fields, isDisabled } })) return before;
  const isEnabled = isDisabled === false && before.disabledAt !== null;
  const changesTarget = fields.url !== undefined && fields.url !== before.url;
  const changesActions =
    fields.actions !== undefined && JSON.stringify(fields.actions) !== JSON.stringify(before.actions);
  if (isEnabled || changesTarget || changesActions) requireRecentAuthentication(origin);
  // Enabling a webhook forgets since when it fails, which an edit that leaves it enabled must not do.
  const change = { fields, isDisabled: isDisabled === row.isDisabled ? undefined : isDisabled, versions };
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
  const { workspaceTrx, webhook: before } = await enterWebhook(trx, edit, id);
  if (!(await deleteRow(workspaceTrx, scope, id, versions))) throw new AppError("PRECONDITION_FAILED");
  await appendAudit(workspaceTrx, scope, origin, {
    action: "webhook.deleted",
    targetId: id,
    before: toDetails(before),
  });
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
