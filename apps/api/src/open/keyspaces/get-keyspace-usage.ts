import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { maxTagDays, readGroupedUsage, usageGroupings } from "../../domain/keyspace-usage.ts";
import { issuedKeyId } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { externalId } from "../../issued-key-fields.ts";
import { customIssue } from "../../issues.ts";
import { invalidPeriod, isValidPeriod, usagePeriod } from "../../key-fields.ts";
import { itemLimit } from "../../lists.ts";
import { keyspaceUsage, outcomeMeanings, presentUsageGroup } from "../../presenters/keyspace-usage.ts";
import { keyspaceParams, shownId } from "../../schemas.ts";

const query = z
  .strictObject({
    ...usagePeriod,
    groupBy: z.enum(usageGroupings).meta({ description: "What the verifications are grouped by." }),
    keyId: issuedKeyId.optional().meta({
      ...shownId("issuedKey").meta(),
      description: "Only verifications of this key. Requires `groupBy=outcome`.",
    }),
    externalId: externalId.optional().meta({
      description: "Only verifications of the keys of this consumer. Requires `groupBy=outcome`.",
    }),
    limit: itemLimit.meta({ description: "The maximum number of groups." }),
  })
  .refine(isValidPeriod, invalidPeriod)
  .refine(({ groupBy, keyId, externalId }) => groupBy === "outcome" || (keyId ?? externalId) === undefined, {
    path: ["groupBy"],
    ...customIssue("invalid_value", 'must be "outcome" with "keyId" or "externalId"'),
  })
  .refine(({ keyId, externalId }) => keyId === undefined || externalId === undefined, {
    path: ["externalId"],
    ...customIssue("invalid_value", 'must be omitted with "keyId"'),
  });

export const getKeyspaceUsage = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/usage",
  operationId: "getKeyspaceUsage",
  summary: "Get the usage of a keyspace",
  description: `Returns the groups with the most verifications, busiest first, with the number of verifications per hour or day in UTC. Includes the hours or days that begin at or after \`from\` and before \`to\`. There are at most \`limit\` groups; others are left out, as are counts of 0. At most 25,000 counts are possible, so \`limit\` times the number of hours or days must not exceed 25,000. Tags can be grouped in at most ${maxTagDays} days. Keys and consumers are chosen among the 1,000 busiest of each day, fewer for a period of more than 100 days; their counts are exact. These statistics are about a second behind, and are deleted after the \`HISTORY_DAYS\` of the instance, 90 by default. With \`keyId\` or \`externalId\`, the outcomes are those of one key or consumer.

Outcomes:

${outcomeMeanings}`,
  access: { workspace: "keys:read" },
  request: { params: keyspaceParams, query },
  response: { status: 200, description: "The groups with the most verifications.", schema: keyspaceUsage },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyspaceId }, query }, { read, access: { scope } }) => {
    const groups = await read((db) =>
      inWorkspace(db, scope, (trx) => readGroupedUsage(trx, scope, { ...query, keyspaceId })),
    );
    return { data: groups.map(presentUsageGroup) };
  },
});
