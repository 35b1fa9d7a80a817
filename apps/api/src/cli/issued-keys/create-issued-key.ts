import { z } from "zod";
import { createIssuedKey } from "../../domain/issued-keys.ts";
import { instant } from "../../fields.ts";
import { issuedPermissions, newIssuedKeyFields } from "../../issued-key-fields.ts";
import { lifetimeSeconds } from "../../key-fields.ts";
import { balance, limits, metadata, refill } from "../setting-values.ts";
import { defineTask } from "../task.ts";
import { duration, ipRange, keyspaceId } from "../values.ts";
import { findKeyspaceEdit } from "./find-keyspace.ts";
import { issuedSecretResult } from "./issued-key-view.ts";

export const createIssuedKeyTask = defineTask({
  input: z
    .strictObject({
      keyspace: keyspaceId,
      name: newIssuedKeyFields.name,
      externalId: newIssuedKeyFields.externalId,
      expiresIn: duration.pipe(lifetimeSeconds).optional(),
      expiresAt: instant.optional(),
      permission: issuedPermissions.optional(),
      ip: z.array(ipRange).pipe(newIssuedKeyFields.ipRanges.unwrap().unwrap()).optional(),
      limit: limits.optional(),
      credits: balance.optional(),
      refill: refill.optional(),
      meta: metadata.optional(),
    })
    .refine(({ credits, refill }) => credits !== undefined || !refill, {
      path: ["refill"],
      message: "Also specify --credits, the balance until the first refill.",
    }),
  perform: async ({ db, quotas }, { keyspace, name, externalId, expiresIn, expiresAt, ...settings }) => {
    const edit = await findKeyspaceEdit(db, keyspace);
    const {
      permission: permissions,
      ip: ipRanges,
      limit: limits,
      credits: remaining,
      refill,
      meta,
    } = settings;
    const request = {
      keyspaceId: keyspace,
      name,
      externalId,
      ...(expiresIn !== undefined && { expiresAt: { inSeconds: expiresIn } }),
      ...(expiresAt && { expiresAt }),
      ...(permissions && { permissions }),
      ...(ipRanges && { ipRanges }),
      ...(limits && { limits }),
      ...(remaining !== undefined && { credits: { remaining, refill: refill ?? null } }),
      ...(meta && { meta }),
    };
    return issuedSecretResult(
      await db.transaction().execute((trx) => createIssuedKey(trx, edit, request, quotas)),
    );
  },
});
