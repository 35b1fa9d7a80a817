import { permissions } from "@latchkey/auth/permissions";
import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { maxOffboardedKeys, type OffboardingPreview, type ReplacementKey } from "../domain/offboarding.ts";
import { serviceAccountRole } from "../fields.ts";
import { shownIdentifier } from "../schemas.ts";
import { presentWorkspaceKey, workspaceKey } from "./workspace-key.ts";

const affectedKey = workspaceKey
  .extend({
    stoppedPermissions: z
      .array(shownIdentifier.meta({ example: permissions[0] }))
      .meta({ maxItems: permissions.length })
      .meta({
        description: "What the key can do in the workspace now, and no longer after the change.",
      }),
  })
  .meta({ id: "AffectedApiKey" });

/** The API keys that are affected if a member is removed or gets another role. */
export const offboardingPreview = z
  .object({
    keys: z.array(affectedKey).meta({
      description: `The member's API keys that can reach the workspace, busiest first; at most ${maxOffboardedKeys}. If there are more, those that lose permissions take precedence.`,
      maxItems: maxOffboardedKeys,
    }),
    total: z.int().min(0).meta({ description: "The number of all such keys.", example: 3 }),
    replacementRole: serviceAccountRole.meta({
      description:
        "The role of a service account that replaces the member: the member's, or `admin` for an owner.",
      example: "member",
    }),
  })
  .meta({ id: "AffectedApiKeys" });

/** Presents the affected keys of a member for the open API and the web app. */
export function presentOffboarding({
  keys,
  total,
  replacementRole,
}: OffboardingPreview): z.input<typeof offboardingPreview> {
  return {
    keys: keys.map(({ lostPermissions, ...key }) => ({
      ...presentWorkspaceKey(key),
      stoppedPermissions: [...lostPermissions],
    })),
    total,
    replacementRole,
  };
}

/** Presents a key that replaces another one, with its secret. */
export function presentReplacementKey({ id, name, secret, replacedId }: ReplacementKey) {
  return { id: encodeId("key", id), name, key: secret, replacedId: encodeId("key", replacedId) };
}
