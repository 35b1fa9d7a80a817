import { listNotices as list } from "@latchkey/db/notices";
import { z } from "zod";
import { defineEndpoint } from "../../http/endpoint.ts";
import { listQuery, pageOf, readPage, toPage } from "../../lists.ts";
import { notice, presentNotice } from "../../presenters/notice.ts";

const query = listQuery(["createdAt"]).extend({
  sort: z
    .enum(["-createdAt", "createdAt"])
    .default("-createdAt")
    .meta({ description: "A leading minus sorts in descending order." }),
  isUnread: z
    .enum(["true", "false"])
    .transform((text) => text === "true")
    .optional()
    .meta({ description: "Only unread notices, or only read ones." }),
});

export const listNotices = defineEndpoint({
  method: "GET",
  path: "/me/notices",
  operationId: "listNotices",
  summary: "List notices",
  description:
    "Lists the notices of the user who owns the key, newest first, except kinds that the user turned off in the app. Notices are deleted after 90 days. A service account gets none.",
  access: "unrestricted-key",
  request: { query },
  response: { status: 200, description: "A page of your notices.", schema: pageOf(notice) },
  errors: [],
  handle: async ({ query }, { read, principal: { userId } }) => {
    const page = { ...readPage(query), isUnread: query.isUnread };
    const rows = await read((db) => list(db, userId, page));
    return toPage(rows, query, { present: presentNotice, idOf: ({ id }) => id });
  },
});
