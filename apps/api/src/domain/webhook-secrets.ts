import { createHash, randomBytes } from "node:crypto";
import type { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import { appendAudit } from "@latchkey/db/audit-events";
import type { WebhookId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import { lockWebhook, readWebhookSecrets, replaceWebhookSecret, type Webhook } from "@latchkey/db/webhooks";
import { AppError } from "@latchkey/errors";
import type { Edit } from "./enter-for-edit.ts";
import { enterToManage } from "./enter-to-manage.ts";
import { enterWebhook } from "./enter-webhook.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";

/** A webhook and its new secret, which only the result of the call that created it contains. */
export interface WebhookWithSecret {
  readonly webhook: Webhook;
  readonly secret: string;
}

/** Creates a secret as Standard Webhooks specifies: a prefix and 24 to 64 random bytes, here 32, in base64. */
export function createWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
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
  { webhookSecrets }: { readonly webhookSecrets: SealedSecrets },
): Promise<WebhookWithSecret> {
  requireRecentAuthentication(edit.origin);
  const { scope, origin } = edit;
  const { overlapSeconds, versions } = rotation;
  const { workspaceTrx, webhook: before } = await enterWebhook(trx, edit, id);
  if (versions && !versions.includes(before.version)) throw new AppError("PRECONDITION_FAILED");
  const secret = createWebhookSecret();
  const sealed = webhookSecrets.seal(id, secret);
  const webhook = await replaceWebhookSecret(workspaceTrx, scope, id, { secret: sealed, overlapSeconds });
  await appendAudit(workspaceTrx, scope, origin, {
    action: "webhook.secret-rotated",
    targetId: id,
    after: { overlapSeconds },
  });
  return { webhook, secret };
}

/** Returns undefined for a secret that was sealed with another `AUTH_SECRET`. */
export function openWebhookSecret(
  webhookSecrets: SealedSecrets,
  id: WebhookId,
  sealed: Buffer,
): string | undefined {
  try {
    return webhookSecrets.open(id, sealed);
  } catch {
    return undefined;
  }
}

/** SHA-256 of a secret, to recognize it in a retry. */
export function digestWebhookSecret(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/**
 * Replaces the secret that a request issued, for a retry of that request whose response was lost.
 * @param issued.hash the digest of that secret.
 * @returns undefined if the webhook was deleted, or has another secret.
 * @throws {AppError} FORBIDDEN
 */
export async function reissueWebhookSecret(
  trx: Trx,
  edit: Edit,
  issued: { readonly id: WebhookId | undefined; readonly hash: Buffer },
  { webhookSecrets }: { readonly webhookSecrets: SealedSecrets },
): Promise<WebhookWithSecret | undefined> {
  if (!issued.id) return undefined;
  const { scope } = edit;
  const workspaceTrx = await enterToManage(trx, edit, "webhooks:manage");
  if (!(await lockWebhook(workspaceTrx, scope, issued.id))) return undefined;
  const [sealed] = await readWebhookSecrets(workspaceTrx, scope, issued.id);
  const current = sealed && openWebhookSecret(webhookSecrets, issued.id, sealed);
  if (current === undefined || !digestWebhookSecret(current).equals(issued.hash)) return undefined;
  const secret = createWebhookSecret();
  const replacement = { secret: webhookSecrets.seal(issued.id, secret), overlapSeconds: undefined };
  const webhook = await replaceWebhookSecret(workspaceTrx, scope, issued.id, replacement);
  await appendAudit(workspaceTrx, scope, edit.origin, {
    action: "webhook.secret-reissued",
    targetId: issued.id,
  });
  return { webhook, secret };
}
