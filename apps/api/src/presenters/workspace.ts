import { encodeId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/role";
import type { Workspace } from "@latchkey/db/workspaces";
import { z } from "zod";
import { maxSlugLength } from "../domain/slug.ts";
import { role } from "../fields.ts";
import { shownId, shownText, timestamp, version } from "../schemas.ts";
import { shownWorkspaceFields } from "../workspace-fields.ts";

/** A workspace as a member's key sees it. */
export const workspace = z
  .object({
    id: shownId("workspace"),
    ...shownWorkspaceFields,
    slug: shownText(maxSlugLength).meta({
      description: "Identifies the workspace in URLs of the web app.",
      example: "payments",
    }),
    isDisabled: z.boolean().meta({
      description:
        "Whether an operator of the instance disabled the workspace. Requests in it are then rejected with 403. The issue is `workspace_disabled` if nothing else is wrong.",
      example: false,
    }),
    role: role.meta({ description: "The role of the key's owner in the workspace." }),
    createdAt: timestamp,
    version,
  })
  .meta({ id: "Workspace" });

export function presentWorkspace(shown: Workspace & { readonly role: Role }): z.input<typeof workspace> {
  return {
    id: encodeId("workspace", shown.id),
    name: shown.name,
    description: shown.description,
    requiresSecondFactor: shown.requiresSecondFactor,
    auditRetentionDays: shown.auditRetentionDays,
    slug: shown.slug,
    isDisabled: shown.disabledAt !== null,
    role: shown.role,
    createdAt: shown.createdAt.toISOString(),
    version: shown.version,
  };
}
