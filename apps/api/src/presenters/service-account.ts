import { encodeId } from "@latchkey/db/ids";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import type { ServiceAccount } from "../domain/service-accounts.ts";
import { serviceAccountRole } from "../fields.ts";
import { shownId, shownText, timestamp, version } from "../schemas.ts";

/** A member of a workspace that is not a person. */
export const serviceAccount = z
  .object({
    userId: shownId("user").meta({ description: "The ID of the service account, as in lists of members." }),
    name: shownText(maxLength.serviceAccountName).meta({ example: "Deploys" }),
    role: serviceAccountRole.meta({ example: "member" }),
    isDisabled: z.boolean().meta({ description: "Whether all of its API keys are rejected." }),
    createdAt: timestamp,
    version,
  })
  .meta({ id: "ServiceAccount" });

export function presentServiceAccount(shown: ServiceAccount): z.input<typeof serviceAccount> {
  return {
    userId: encodeId("user", shown.userId),
    name: shown.name,
    role: shown.role,
    isDisabled: shown.isDisabled,
    createdAt: shown.joinedAt.toISOString(),
    version: shown.version,
  };
}
