import { describeInstance } from "../domain/instance.ts";
import { createRouter, publicProcedure } from "./trpc.ts";

export const instanceRouter = createRouter({
  /** What the sign-in pages need to know before anybody has signed in. */
  get: publicProcedure.query(({ ctx }) => {
    const { name, version, baseUrl, registration, documentationUrl } = describeInstance(ctx.instance);
    return { name, version, baseUrl, registration, documentationUrl };
  }),
});
