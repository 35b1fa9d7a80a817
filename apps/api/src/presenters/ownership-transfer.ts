import { encodeId } from "@latchkey/db/ids";
import type { OwnershipTransfer, TransferParty } from "@latchkey/db/ownership-transfers";
import { z } from "zod";
import { shownId, shownPersonName, timestamp } from "../schemas.ts";

const party = (description: string, name: string) =>
  z.object({ userId: shownId("user"), name: shownPersonName.meta({ example: name }) }).meta({ description });

/** An owner's offer to transfer ownership of the workspace to another member. */
export const ownershipTransfer = z
  .object({
    from: party("The owner who offers ownership, and becomes an admin.", "Ada Lovelace"),
    to: party("The member who can accept it, and becomes an owner.", "Grace Hopper"),
    createdAt: timestamp,
    expiresAt: timestamp,
  })
  .meta({ id: "OwnershipTransfer" });

export function presentOwnershipTransfer(shown: OwnershipTransfer): z.input<typeof ownershipTransfer> {
  return {
    from: presentParty(shown.from),
    to: presentParty(shown.to),
    createdAt: shown.createdAt.toISOString(),
    expiresAt: shown.expiresAt.toISOString(),
  };
}

function presentParty({ userId, name }: TransferParty) {
  return { userId: encodeId("user", userId), name };
}
