import { clearable } from "./fields.ts";
import { externalId, namedLimits } from "./issued-key-fields.ts";
import { listQuery, searchFilter } from "./lists.ts";
import { keyspaceParams } from "./schemas.ts";

/** The fields of an edit of a consumer. */
export const consumerChanges = {
  limits: clearable(namedLimits, []).meta({
    description: "The rate limits that all keys of the consumer share. Null or an empty list removes them.",
  }),
};

/** The query of a list of consumers. */
export const consumersQuery = listQuery(["createdAt", "externalId"]).extend({
  search: searchFilter.meta({
    description: "Only consumers whose external ID starts with this text. Case-insensitive.",
  }),
});

/** The parameters of a path to a consumer. */
export const consumerParams = keyspaceParams.extend({
  externalId: externalId.meta({
    description:
      "The consumer, as your system identifies it. Percent-encode it, for example `a%2Fb` for `a/b`.",
  }),
});
