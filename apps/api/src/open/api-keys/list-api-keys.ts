import { listApiKeyPage } from "@latchkey/db/api-keys";
import { z } from "zod";
import { defineEndpoint } from "../../http/endpoint.ts";
import { listQuery, pageOf, readPage, searchFilter, toPage } from "../../lists.ts";
import { apiKey, presentKey } from "../../presenters/api-key.ts";

/** The query of a list of keys with one owner. */
export const keysQuery = listQuery(["createdAt", "name"]).extend({
  search: searchFilter.meta({
    description: "Only keys whose name, description or first characters contain this text. Case-insensitive.",
  }),
  isDisabled: z
    .enum(["true", "false"])
    .transform((text) => text === "true")
    .optional()
    .meta({ description: "Only disabled keys, or only enabled keys." }),
});

export const listApiKeys = defineEndpoint({
  method: "GET",
  path: "/api-keys",
  operationId: "listApiKeys",
  summary: "List API keys",
  description:
    "Lists the API keys of the user who owns the request's key, oldest first, without their secrets. A restricted key sees only itself.",
  access: "key",
  request: { query: keysQuery },
  response: {
    status: 200,
    description: "A page of your API keys, without their secrets.",
    schema: pageOf(apiKey),
  },
  errors: [],
  handle: async ({ query }, { read, principal: { userId, keyId, isRestricted } }) => {
    const { search, isDisabled } = query;
    const filter = { search, isDisabled, id: isRestricted ? keyId : undefined };
    const rows = await read((db) => listApiKeyPage(db, userId, { ...readPage(query), filter }));
    return toPage(rows, query, { present: presentKey, idOf: ({ id }) => id });
  },
});
