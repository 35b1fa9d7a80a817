import { z } from "zod";
import { createIssuedKey } from "../../domain/issued-keys.ts";
import { instant } from "../../fields.ts";
import { credits, issuedPermissions, newIssuedKeyFields } from "../../issued-key-fields.ts";
import { lifetimeSeconds } from "../../key-fields.ts";
import { defineTask } from "../task.ts";
import { duration, ipRange, keyspaceId } from "../values.ts";
import { findKeyspaceEdit } from "./find-keyspace.ts";
import { issuedSecretResult } from "./issued-key-view.ts";

const balance = z
  .string()
  .regex(/^\d{1,15}$/, "Expected a whole number, such as 1000.")
  .transform(Number)
  .pipe(credits.shape.remaining);

export const createIssuedKeyTask = defineTask({
  input: z.strictObject({
    keyspace: keyspaceId,
    name: newIssuedKeyFields.name,
    externalId: newIssuedKeyFields.externalId,
    expiresIn: duration.pipe(lifetimeSeconds).optional(),
    expiresAt: instant.optional(),
    permission: issuedPermissions.optional(),
    ip: z.array(ipRange).optional(),
    credits: balance.optional(),
  }),
  perform: async ({ db, quotas }, { keyspace, name, externalId, ...options }) => {
    const edit = await findKeyspaceEdit(db, keyspace);
    const { expiresIn, expiresAt, permission: permissions, ip: ipRanges, credits: remaining } = options;
    const request = {
      keyspaceId: keyspace,
      name,
      externalId,
      ...(expiresIn !== undefined && { expiresAt: { inSeconds: expiresIn } }),
      ...(expiresAt && { expiresAt }),
      ...(permissions && { permissions }),
      ...(ipRanges && { ipRanges }),
      ...(remaining !== undefined && { credits: { remaining, refill: null } }),
    };
    return issuedSecretResult(
      await db.transaction().execute((trx) => createIssuedKey(trx, edit, request, quotas)),
    );
  },
});
