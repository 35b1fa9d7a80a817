import { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import { findAuthSecret, requireAuthSecret } from "../../auth-secret.ts";
import { StartError } from "../../start-error.ts";
import type { TaskContext } from "../task.ts";

/**
 * What the domain needs to create and rotate secrets of webhooks, from the command's environment.
 * @throws {StartError} if the server hasn't generated the secret with which it seals others. The server may have another one in
 *   its environment, so that it couldn't open what a newly generated one has sealed.
 */
export async function readWebhookOptions({ env, quotas }: Pick<TaskContext, "env" | "quotas">) {
  requireAuthSecret(env);
  const authSecret = await findAuthSecret(env);
  if (authSecret === undefined) {
    throw new StartError(
      "The data directory has no auth-secret, with which secrets of webhooks are encrypted. Set AUTH_SECRET as for the server, or start the server once, which generates one.",
    );
  }
  const webhookSecrets = new SealedSecrets(authSecret, "webhook secrets");
  return { quotas, webhookSecrets, allowsPlainWebhooks: env.webhookNetworks.length > 0 };
}
