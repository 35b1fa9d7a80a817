import { encodeId } from "@latchkey/db/ids";
import type { Membership } from "@latchkey/db/workspaces";
import { z } from "zod";
import { role, timestamp } from "../schemas.ts";

/** A workspace as a member's key sees it. */
export const workspace = z
  .object({
    id: z.string().meta({ example: "ws_01h455vb4pex5vsknk084sn02q" }),
    name: z.string().meta({ example: "Payments" }),
    slug: z
      .string()
      .meta({ description: "Names the workspace in the web app's addresses.", example: "payments" }),
    role: role.meta({ description: "The role of the key's user in it." }),
    createdAt: timestamp,
  })
  .meta({ id: "Workspace" });

export function presentWorkspace(membership: Membership): z.input<typeof workspace> {
  return {
    id: encodeId("workspace", membership.id),
    name: membership.name,
    slug: membership.slug,
    role: membership.role,
    createdAt: membership.createdAt.toISOString(),
  };
}
