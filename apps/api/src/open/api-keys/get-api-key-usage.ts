import { z } from "zod";
import { getKey, requireReadableKey } from "../../domain/api-keys.ts";
import { maxUsageCounts, readOwnKeyUsage } from "../../domain/key-usage.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { invalidPeriod, isValidPeriod, usagePeriod } from "../../key-fields.ts";
import { keyParams } from "../../presenters/api-key.ts";
import { presentUsageBucket, usageBucket } from "../../presenters/usage-bucket.ts";

const usage = z
  .object({ data: z.array(usageBucket).meta({ maxItems: maxUsageCounts }) })
  .meta({ id: "KeyUsage" });

export const getApiKeyUsage = defineEndpoint({
  method: "GET",
  path: "/api-keys/:keyId/usage",
  operationId: "getApiKeyUsage",
  summary: "Get the usage of an API key",
  description:
    "Returns the number of requests per outcome, workspace, and hour or day in UTC, oldest first. Includes the hours or days that begin at or after `from` and before `to`. Counts of 0 are omitted. A request that verifies keys of several workspaces is counted in each of them. A period with more than 10,000 counts is rejected. These statistics are about a second behind; the key's `usageCount` is exact.",
  access: "key",
  request: { params: keyParams, query: z.strictObject(usagePeriod).refine(isValidPeriod, invalidPeriod) },
  response: { status: 200, description: "The number of requests by time and outcome.", schema: usage },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyId }, query }, { read, principal }) => {
    const rows = await read(async (db) => {
      await requireReadableKey(db, principal, keyId);
      await getKey(db, { userId: principal.userId, id: keyId });
      return await readOwnKeyUsage(db, principal.userId, { keyId, ...query });
    });
    return { data: rows.map(presentUsageBucket) };
  },
});
