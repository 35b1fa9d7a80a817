import { issuedKeyStatusFilters } from "@latchkey/db/issued-key-status";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import { noControlsPattern, printable } from "./fields.ts";
import { externalId, issuedPermission } from "./issued-key-fields.ts";
import { searchFilter } from "./lists.ts";

/** The filters of a list of issued keys. */
export const issuedKeyFilter = {
  name: searchFilter.meta({ description: "Only keys whose name starts with this text. Case-insensitive." }),
  externalId: externalId.optional().meta({ description: "Only keys of this consumer." }),
  status: z.enum(issuedKeyStatusFilters).optional().meta({
    description:
      "Only keys with this status. `expiring`: the key is not disabled and expires within 30 days, even if it is out of credits.",
  }),
  start: printable.trim().min(1, "must not be empty").max(maxLength.issuedKeyStart).optional().meta({
    pattern: noControlsPattern,
    description:
      "Only keys whose secret, or an old secret that is still valid, starts with these characters. Latchkey stores only the prefix, the underscore and the next six characters of secrets that it created, so a longer string finds nothing.",
    example: "sk_live_4fTq",
  }),
  permission: issuedPermission.optional().meta({
    description: "Only keys with this permission in their list. A wildcard doesn't match other permissions.",
  }),
};
