import { encodeId } from "@latchkey/db/ids";
import type { Member } from "@latchkey/db/members";
import { z } from "zod";
import { role } from "../fields.ts";
import { shownId, shownPersonName, shownUserEmail, shownUserKind, timestamp, version } from "../schemas.ts";

/** A user in a workspace. */
export const member = z
  .object({
    userId: shownId("user"),
    name: shownPersonName.meta({ example: "Ada Lovelace" }),
    kind: shownUserKind,
    email: shownUserEmail,
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
    kind: shown.kind,
    email: shown.email,
    role: shown.role,
    isDisabled: shown.isDisabled,
    joinedAt: shown.joinedAt.toISOString(),
    version: shown.version,
  };
}
