import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { createKeyspace } from "../../domain/keyspaces.ts";
import { newKeyspaceFields } from "../../keyspace-fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { balance, limits, refill } from "../setting-values.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { keyspaceView, presentKeyspaceOf } from "./keyspace-view.ts";

const { name, prefix, environment, defaultLifetimeDays, defaultPermissions } = newKeyspaceFields;
const lifetime = z
  .string()
  .regex(/^\d{1,5}d$/, "Expected a number of days, for example 90d.")
  .transform((text): z.input<typeof defaultLifetimeDays> => Number(text.slice(0, -1)))
  .pipe(defaultLifetimeDays);

export const createKeyspaceTask = defineTask({
  input: z
    .strictObject({
      workspace: workspaceId,
      name,
      prefix,
      environment,
      defaultLifetime: lifetime.optional(),
      defaultPermission: defaultPermissions,
      defaultLimit: limits.optional(),
      defaultCredits: balance.optional(),
      defaultRefill: refill.optional(),
    })
    .refine(({ defaultCredits, defaultRefill }) => defaultCredits !== undefined || !defaultRefill, {
      path: ["defaultRefill"],
      message: "Also specify --default-credits, the balance until the first refill.",
    }),
  perform: async ({ db, quotas }, { workspace, defaultCredits: remaining, defaultRefill, ...options }) => {
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const { name, prefix, environment, defaultLifetime, defaultPermission, defaultLimit } = options;
    const fields = {
      name,
      prefix,
      environment,
      defaultLifetimeDays: defaultLifetime ?? null,
      defaultPermissions: defaultPermission,
      defaultLimits: defaultLimit ?? [],
      defaultCredits: remaining === undefined ? null : { remaining, refill: defaultRefill ?? null },
    };
    const keyspace = await db.transaction().execute((trx) => createKeyspace(trx, edit, fields, quotas));
    return itemOf(presentKeyspaceOf(workspace, keyspace), keyspaceView);
  },
});
