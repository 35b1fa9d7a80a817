import { apiKeysRouter } from "./api-keys.ts";
import { instanceRouter } from "./instance.ts";
import { sessionRouter } from "./session.ts";
import { createRouter } from "./trpc.ts";

/** Everything between the web app and the server. Its type is all that the web app imports from here. */
export const router = createRouter({
  instance: instanceRouter,
  session: sessionRouter,
  apiKeys: apiKeysRouter,
});

export type AppRouter = typeof router;
