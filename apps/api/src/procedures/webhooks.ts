import { listDeliveries } from "@latchkey/db/webhook-deliveries";
import { countWebhooks, listWebhooks, webhookStatuses } from "@latchkey/db/webhooks";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { redeliver, testWebhook } from "../domain/webhook-messages.ts";
import { rotateWebhookSecret } from "../domain/webhook-secrets.ts";
import { changeWebhook, createWebhook, deleteWebhook, getWebhook } from "../domain/webhooks.ts";
import { deliveryId, searchText, webhookId } from "../fields.ts";
import { overlapSeconds } from "../key-fields.ts";
import { listQuery, pageSize, readPage, toPage } from "../lists.ts";
import {
  delivery,
  presentDelivery,
  presentWebhook,
  presentWebhookWithSecret,
} from "../presenters/webhook.ts";
import { newWebhookFields, webhookChanges } from "../webhook-fields.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

const pageSizeInput = pageSize.default(50);
const order = listQuery(["createdAt", "url"]).shape;
const deliveryOrder = listQuery(["createdAt"]).shape;

const procedure = workspaceProcedure("webhooks:manage");
const version = z.int32().min(1);

export const webhooksRouter = createRouter({
  /** A page of the webhooks, and the number of matches. */
  list: procedure
    .input(
      workspaceInput({
        search: searchText.default(""),
        status: z.enum(webhookStatuses).optional(),
        sort: order.sort,
        cursor: order.cursor,
        pageSize: pageSizeInput,
      }),
    )
    .query(async ({ ctx: { read, access }, input }) => {
      const { scope } = access;
      const { search, status } = input;
      const query = { ...input, limit: input.pageSize };
      const filter = { search, status };
      const page = { ...readPage(query), filter };
      const { rows, total } = await read((db) =>
        inWorkspace(db, scope, async (trx) => ({
          rows: await listWebhooks(trx, scope, page),
          total: await countWebhooks(trx, scope, filter),
        })),
      );
      const { data, nextCursor } = toPage(rows, query, { present: presentWebhook, idOf: ({ id }) => id });
      return { items: data, nextCursor, total };
    }),

  get: procedure
    .input(workspaceInput({ id: webhookId }))
    .query(async ({ ctx: { read, access }, input: { id } }) => {
      const { scope } = access;
      return presentWebhook(await read((db) => inWorkspace(db, scope, (trx) => getWebhook(trx, scope, id))));
    }),

  /** Returns the secret, which is shown once. */
  create: procedure
    .input(workspaceInput(newWebhookFields))
    .mutation(async ({ ctx, input: { url, description, actions } }) =>
      presentWebhookWithSecret(
        await ctx.transact((trx) =>
          createWebhook(trx, ctx.edit, { url, description, actions }, ctx.services),
        ),
      ),
    ),

  /** `version` is the version that the user edited. */
  update: procedure
    .input(workspaceInput({ id: webhookId, version, changes: z.strictObject(webhookChanges) }))
    .mutation(async ({ ctx, input: { id, version, changes } }) => {
      const change = { ...changes, versions: [version] };
      return presentWebhook(
        await ctx.transact((trx) => changeWebhook(trx, ctx.edit, id, change, ctx.services)),
      );
    }),

  delete: procedure.input(workspaceInput({ id: webhookId })).mutation(async ({ ctx, input: { id } }) => {
    await ctx.transact((trx) => deleteWebhook(trx, ctx.edit, id, undefined));
    return null;
  }),

  /**
   * Returns the new secret, which is shown once. `version` is the version that the user saw; without it, any version is rotated. The
   * web app sends it in the next release, because nodes of the previous version reject it.
   */
  rotateSecret: procedure
    .input(workspaceInput({ id: webhookId, overlapSeconds, version: version.optional() }))
    .mutation(async ({ ctx, input: { id, overlapSeconds, version } }) => {
      const rotation = { overlapSeconds, versions: version === undefined ? undefined : [version] };
      return presentWebhookWithSecret(
        await ctx.transact((trx) => rotateWebhookSecret(trx, ctx.edit, id, rotation, ctx.services)),
      );
    }),

  /** Sends a test message. */
  test: procedure
    .input(workspaceInput({ id: webhookId }))
    .mutation(async ({ ctx, input: { id } }) =>
      presentDelivery(await ctx.transact((trx) => testWebhook(trx, ctx.edit, id))),
    ),

  /** A page of the deliveries to a webhook. */
  deliveries: procedure
    .input(
      workspaceInput({
        id: webhookId,
        status: delivery.shape.status.optional(),
        sort: deliveryOrder.sort,
        cursor: deliveryOrder.cursor,
        pageSize: pageSizeInput,
      }),
    )
    .query(async ({ ctx: { read, access }, input }) => {
      const { scope } = access;
      const query = { ...input, limit: input.pageSize };
      const page = { ...readPage(query), filter: { webhookId: input.id, status: input.status } };
      const rows = await read((db) =>
        inWorkspace(db, scope, async (trx) => {
          await getWebhook(trx, scope, input.id);
          return await listDeliveries(trx, scope, page);
        }),
      );
      const { data, nextCursor } = toPage(rows, query, { present: presentDelivery, idOf: ({ id }) => id });
      return { items: data, nextCursor };
    }),

  redeliver: procedure
    .input(workspaceInput({ id: webhookId, deliveryId }))
    .mutation(async ({ ctx, input: { id: webhookId, deliveryId: id } }) =>
      presentDelivery(await ctx.transact((trx) => redeliver(trx, ctx.edit, { webhookId, id }))),
    ),
});
