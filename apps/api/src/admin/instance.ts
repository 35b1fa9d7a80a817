import { permissionCatalogue, permissions, roleHolds, roles } from "@latchkey/auth/permissions";
import { hasAccounts } from "../domain/instance.ts";
import { createRouter, publicProcedure } from "./trpc.ts";

export const instanceRouter = createRouter({
  /** What the sign-in pages need to know before anybody has signed in. */
  get: publicProcedure.query(({ ctx }) => {
    const { name, version, baseUrl, registration, documentationUrl } = ctx.instance.configuration;
    return { name, version, baseUrl, registration, documentationUrl };
  }),

  /** Whether nobody has an account yet: the first account becomes the operator. */
  isFresh: publicProcedure.query(async ({ ctx }) => !(await hasAccounts(ctx.instance))),

  /** The table of permissions: what each allows, in words, and which roles hold it. */
  permissions: publicProcedure.query(() =>
    permissions.map((permission) => ({
      name: permission,
      description: permissionCatalogue[permission],
      roles: roles.filter((role) => roleHolds(role, permission)),
    })),
  ),
});
