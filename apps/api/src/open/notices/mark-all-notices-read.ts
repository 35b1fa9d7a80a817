import { markAllAsRead } from "../../domain/notices.ts";
import { defineEndpoint } from "../../http/endpoint.ts";

export const markAllNoticesRead = defineEndpoint({
  method: "POST",
  path: "/me/notices/read",
  operationId: "markAllNoticesRead",
  summary: "Mark all notices as read",
  description:
    "Marks the notices of the user who owns the key as read, except notices of the kinds `former-secret-used`, `new-network` and `new-device`. Only the web app can mark those as read, so that nobody can hide these notices with a stolen key.",
  access: "unrestricted-key",
  request: {},
  response: { status: 204 },
  errors: [],
  handle: async (_input, { transact, principal: { userId }, origin }) => {
    await transact((trx) => markAllAsRead(trx, { userId, origin }));
    return undefined;
  },
});
