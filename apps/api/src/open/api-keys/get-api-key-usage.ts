import { readKeyUsage } from "@latchkey/db/key-history";
import { asUser } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { getKey, requireReadableKey } from "../../domain/api-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { invalidPeriod, isValidPeriod, usagePeriod } from "../../key-fields.ts";
import { keyParams } from "../../presenters/api-key.ts";
import { presentUsageBucket, usageBucket } from "../../presenters/usage-bucket.ts";

export const getApiKeyUsage = defineEndpoint({
  method: "GET",
  path: "/api-keys/:keyId/usage",
  operationId: "getApiKeyUsage",
  summary: "Get the usage of an API key",
  description:
    "Returns the number of requests per outcome, workspace, and hour or day in UTC, oldest first. Includes the hours or days that begin at or after `from` and before `to`. Counts of 0 are omitted. These statistics are about a second behind; the key's `usageCount` is exact.",
  access: "key",
  request: { params: keyParams, query: z.strictObject(usagePeriod).refine(isValidPeriod, invalidPeriod) },
  response: { status: 200, schema: z.object({ data: z.array(usageBucket) }).meta({ id: "KeyUsage" }) },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyId }, query }, { read, principal }) => {
    const rows = await read(async (db) => {
      await requireReadableKey(db, principal, keyId);
      await getKey(db, { userId: principal.userId, id: keyId });
      return await asUser(db, principal.userId, (trx) => readKeyUsage(trx, { keyId, ...query }));
    });
    return { data: rows.map(presentUsageBucket) };
  },
});
