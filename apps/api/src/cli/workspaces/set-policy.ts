import { openAsOperator } from "@latchkey/auth/workspace-access";
import { getPolicy, previewPolicy, type RejectedKey } from "@latchkey/db/api-key-policies";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { policyLimits } from "@latchkey/limits";
import { z } from "zod";
import { applyChanges, changePolicy } from "../../domain/key-policies.ts";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { maxRejectedKeys, presentRejectedKey } from "../../presenters/api-key-policy.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf, listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { policyView, presentPolicyOf, rejectedKeyView } from "./key-policy-view.ts";

function days(max: number) {
  const message = `Expected a number of days from 1 to ${max}, or none.`;
  return z
    .string()
    .regex(/^(none|\d{1,4})$/, message)
    .transform((text) => (text === "none" ? null : Number(text)))
    .refine((count) => count === null || (count >= 1 && count <= max), message)
    .optional();
}

/** Changes the policy of a workspace, or with `--preview`, lists the keys that the change would reject. */
export const setPolicyTask = defineTask({
  input: z
    .strictObject({
      id: workspaceId,
      maxLifetime: days(policyLimits.maxLifetimeDays),
      maxIdle: days(policyLimits.maxIdleDays),
      requireExpiry: z.boolean().optional(),
      requireIpRanges: z.boolean().optional(),
      preview: z.boolean().optional(),
    })
    .refine(
      ({ id: _id, preview: _preview, ...changes }) => Object.keys(changes).length > 0,
      "Nothing to change. Specify at least one option that changes the policy.",
    ),
  perform: async ({ db }, { id, preview, ...options }) => {
    const scope = openAsOperator(id);
    const changes = {
      maxLifetimeDays: options.maxLifetime,
      maxIdleDays: options.maxIdle,
      isExpiryRequired: options.requireExpiry,
      areIpRangesRequired: options.requireIpRanges,
    };
    if (!preview) {
      const edit = { scope, origin: commandOrigin };
      const changed = await db.transaction().execute((trx) => changePolicy(trx, edit, { changes }));
      return itemOf(presentPolicyOf(id, changed), policyView);
    }
    await db.transaction().execute((trx) => getWorkspaceSummary(trx, id)); // Reports a missing workspace.
    const { keys } = await inWorkspace(db, scope, async (trx) => {
      const policy = applyChanges(await getPolicy(trx, scope), changes);
      return await previewPolicy(trx, scope, { policy, limit: maxRejectedKeys });
    });
    return listOf(iterate(keys), {
      present: presentRejectedKey,
      view: rejectedKeyView,
      emptyText: "No key would stop working.",
    });
  },
});

async function* iterate(keys: readonly RejectedKey[]): AsyncGenerator<RejectedKey> {
  yield* keys;
}
