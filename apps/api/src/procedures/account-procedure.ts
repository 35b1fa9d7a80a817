import { originOf, sessionProcedure } from "./trpc.ts";

/** Changes the user's own account. */
export const accountProcedure = sessionProcedure.use(({ ctx, next }) => {
  const userId = ctx.user.id;
  const edit = { userId, sessionId: ctx.sessionId, origin: originOf(ctx, userId) };
  return next({ ctx: { ...ctx, edit } });
});
