import { appendAudit } from "@latchkey/db/audit-events";
import { changeCredits } from "@latchkey/db/issued-key-credits";
import type { IssuedKey, IssuedKeyPath } from "@latchkey/db/issued-keys";
import type { Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import { AppError, type IssueCode } from "@latchkey/errors";
import { type Message, writeMessage } from "@latchkey/errors/message";
import { issuedKeyLimits } from "@latchkey/limits";
import type { Edit } from "./enter-for-edit.ts";
import { enterKeyspace, issuedKeyNotFound, lockIssuedKeyAtVersion } from "./issued-key-edits.ts";
import { getIssuedKey } from "./issued-keys.ts";

const { maxCredits } = issuedKeyLimits;

/** A change to a balance, in whole credits. It has one of these fields. */
export interface CreditRequest {
  readonly set?: number;
  readonly add?: number;
  readonly subtract?: number;
}

/**
 * Sets the balance of a key, or adds to or subtracts from it. Once this is committed, every node uses the new balance.
 * @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN; CONFLICT if the balance would become negative or too large, or if
 *   there is nothing to add to, because the key has no credits.
 */
export async function changeIssuedKeyCredits(
  trx: Trx,
  edit: Edit,
  path: IssuedKeyPath,
  { versions, ...request }: CreditRequest & { readonly versions: Versions },
): Promise<IssuedKey> {
  const { scope, origin } = edit;
  const { workspaceTrx } = await enterKeyspace(trx, edit, path.keyspaceId);
  const { name, start } = await lockIssuedKeyAtVersion(workspaceTrx, scope, { ...path, versions });
  const { set, add = 0, subtract = 0 } = request;
  const change = set === undefined ? { add: add - subtract } : { set };
  const changed = await changeCredits(workspaceTrx, scope, { id: path.id, change, maxBalance: maxCredits });
  if (!changed) return issuedKeyNotFound();
  const { before, after } = changed;
  if (after === undefined) throw rejectChange(request, before);
  // Admission waits for the counter, but the event needs the exact balance.
  await appendAudit(workspaceTrx, scope, origin, {
    action: "issued-key.credits-changed",
    targetId: path.id,
    before: { credits: before },
    // Tells an addition or a subtraction from a balance that was set.
    after: {
      name,
      start,
      credits: after,
      ...(add > 0 && { added: add }),
      ...(subtract > 0 && { subtracted: subtract }),
    },
  });
  return await getIssuedKey(workspaceTrx, scope, path);
}

/** Why a change is rejected. A value to set is in range, so only additions and subtractions are. */
function rejectChange(request: CreditRequest, balance: number | null): AppError {
  const path = request.subtract === undefined ? "add" : "subtract";
  if (balance === null)
    return conflict(path, "invalid_value", ["The key has no credits. Use set to give it a balance."]);
  return path === "subtract"
    ? conflict(path, "too_large", ["The balance is ", { count: balance }, " and can’t become negative."])
    : conflict(path, "too_large", [
        "The balance is ",
        { count: balance },
        " and can be at most ",
        { count: maxCredits },
        ".",
      ]);
}

function conflict(path: string, code: IssueCode, message: Message): AppError {
  return new AppError("CONFLICT", { message, issues: [{ path, code, message: writeMessage(message) }] });
}
