import { listConsumers as list } from "@latchkey/db/consumers";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { consumersQuery } from "../../consumer-fields.ts";
import { getKeyspace } from "../../domain/keyspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { pageOf, readPage, toPage } from "../../lists.ts";
import { consumer, presentConsumer } from "../../presenters/consumer.ts";
import { keyspaceParams } from "../../schemas.ts";

export const listConsumers = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/consumers",
  operationId: "listConsumers",
  summary: "List consumers",
  description:
    "Lists the consumers that keys of a keyspace belong to, oldest first. A consumer is created with its first key. One that has had neither keys nor limits for 30 days is removed. A page can be shorter than `limit` and still have a `nextCursor`: it ends early if its consumers would have more than 10,000 keys together, and with `search`, each request examines at most 10,000 consumers, so that a page can also be empty.",
  access: { workspace: "keys:read" },
  request: { params: keyspaceParams, query: consumersQuery },
  response: { status: 200, description: "A page of consumers.", schema: pageOf(consumer) },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyspaceId }, query }, { read, access: { scope } }) => {
    const page = { ...readPage(query), keyspaceId, filter: { search: query.search } };
    const consumers = await read((db) =>
      inWorkspace(db, scope, async (trx) => {
        await getKeyspace(trx, scope, keyspaceId);
        return await list(trx, scope, page);
      }),
    );
    return toPage(consumers, query, { present: presentConsumer, idOf: ({ id }) => id });
  },
});
