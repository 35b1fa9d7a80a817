import { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import { getAuthSecret, requireAuthSecret } from "../../auth-secret.ts";
import type { TaskContext } from "../task.ts";

/** What the domain needs to create and rotate secrets of webhooks, from the command's environment. */
export async function readWebhookOptions({ env, quotas }: Pick<TaskContext, "env" | "quotas">) {
  requireAuthSecret(env);
  const webhookSecrets = new SealedSecrets(await getAuthSecret(env), "webhook secrets");
  return { quotas, webhookSecrets, allowsPlainWebhooks: env.webhookNetworks.length > 0 };
}
