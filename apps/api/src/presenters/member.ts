import { encodeId } from "@latchkey/db/ids";
import type { Member } from "@latchkey/db/members";
import { z } from "zod";
import { role } from "../fields.ts";
import { shownEmail, shownId, shownPersonName, timestamp, version } from "../schemas.ts";

/** A user in a workspace. */
export const member = z
  .object({
    userId: shownId("user"),
    name: shownPersonName.meta({ example: "Ada Lovelace" }),
    email: shownEmail,
    role: role.meta({ example: "member" }),
    isDisabled: z.boolean().meta({
      description:
        "Whether the user is disabled. A disabled user can't sign in, and their keys are rejected.",
    }),
    joinedAt: timestamp,
    version,
  })
  .meta({ id: "Member" });

export function presentMember(shown: Member): z.input<typeof member> {
  return {
    userId: encodeId("user", shown.userId),
    name: shown.name,
    email: shown.email,
    role: shown.role,
    isDisabled: shown.isDisabled,
    joinedAt: shown.joinedAt.toISOString(),
    version: shown.version,
  };
}
