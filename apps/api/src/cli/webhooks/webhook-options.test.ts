import { expect, test } from "vitest";
import { defaultQuotas } from "../../domain/quotas.ts";
import { readEnv } from "../../env.ts";
import { readWebhookOptions } from "./webhook-options.ts";

test("secrets of webhooks are sealed only with the secret of the nodes, and none is suggested", async () => {
  const env = readEnv({ DATABASE_URL: "postgres://latchkey@db.example.com/latchkey" });
  await expect(readWebhookOptions({ env, quotas: defaultQuotas })).rejects.toThrow(
    "AUTH_SECRET is required, because secrets of webhooks are encrypted with it. Set it to the value that the nodes have.",
  );
});
