import { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import { findAuthSecret } from "../../auth-secret.ts";
import { StartError } from "../../start-error.ts";
import type { TaskContext } from "../task.ts";

/**
 * What the domain needs to create and rotate secrets of webhooks, from the command's environment.
 * @throws {StartError} without the secret with which the server seals others: it couldn't open what another one has sealed.
 */
export async function readWebhookOptions({ env, quotas }: Pick<TaskContext, "env" | "quotas">) {
  if (env.databaseUrl && !env.authSecret) {
    throw new StartError(
      "AUTH_SECRET is required, because secrets of webhooks are encrypted with it. Set it to the value that the nodes have.",
    );
  }
  const authSecret = await findAuthSecret(env);
  if (authSecret === undefined) {
    throw new StartError(
      "The data directory has no auth-secret, with which secrets of webhooks are encrypted. Set AUTH_SECRET as for the server, or start the server once, which generates one.",
    );
  }
  const webhookSecrets = new SealedSecrets(authSecret, "webhook secrets");
  return { quotas, webhookSecrets, allowsPlainWebhooks: env.webhookNetworks.length > 0 };
}
