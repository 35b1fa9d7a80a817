import { readKeyUsage } from "@latchkey/db/key-history";
import { asUser } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { getKey, requireOwnKey } from "../../domain/api-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { isAnswerable, unanswerable, usagePeriod } from "../../key-fields.ts";
import { ofKey } from "../../presenters/api-key.ts";
import { presentUsageBucket, usageBucket } from "../../presenters/usage-bucket.ts";

export const getApiKeyUsage = defineEndpoint({
  method: "GET",
  path: "/api-keys/:keyId/usage",
  operationId: "getApiKeyUsage",
  summary: "Get the usage of an API key",
  description:
    "By hour or day in UTC, workspace and outcome, the earliest first; what is missing is none. These are statistics, about a second behind; the key's `usageCount` is exact.",
  access: "key",
  request: { params: ofKey, query: z.strictObject(usagePeriod).refine(isAnswerable, unanswerable) },
  response: { status: 200, schema: z.object({ data: z.array(usageBucket) }).meta({ id: "KeyUsage" }) },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyId }, query }, { read, principal }) => {
    const rows = await read(async (db) => {
      await requireOwnKey(db, principal, keyId);
      await getKey(db, { userId: principal.userId, id: keyId });
      return await asUser(db, principal.userId, (trx) => readKeyUsage(trx, { keyId, ...query }));
    });
    return { data: rows.map(presentUsageBucket) };
  },
});
