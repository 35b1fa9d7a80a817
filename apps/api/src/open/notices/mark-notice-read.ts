import { z } from "zod";
import { markAsRead } from "../../domain/notices.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { notice, presentNotice } from "../../presenters/notice.ts";
import { noticeParams } from "../../schemas.ts";

export const markNoticeRead = defineEndpoint({
  method: "PATCH",
  path: "/me/notices/:noticeId",
  operationId: "markNoticeRead",
  summary: "Mark a notice as read",
  description:
    "Marks a notice of the user who owns the key as read. A read notice stays read. For notices of the kinds `former-secret-used`, `new-network` and `new-device`, the response is 403: only the web app can mark those as read, so that nobody can hide these notices with a stolen key.",
  access: "unrestricted-key",
  request: { params: noticeParams, body: z.strictObject({ isRead: z.literal(true) }) },
  response: { status: 200, description: "The notice, now read.", schema: notice },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { noticeId } }, { transact, principal: { userId }, origin }) =>
    presentNotice(await transact((trx) => markAsRead(trx, { userId, origin }, noticeId))),
});
