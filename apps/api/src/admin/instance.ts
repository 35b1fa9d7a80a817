import { permissionCatalogue, permissions, roleHolds, roles } from "@latchkey/auth/permissions";
import { createRouter, publicProcedure } from "./trpc.ts";

export const instanceRouter = createRouter({
  /** What the sign-in pages need to know before anybody has signed in. */
  get: publicProcedure.query(({ ctx }) => {
    const { name, version, baseUrl, registration, documentationUrl } = ctx.instance.configuration;
    return { name, version, baseUrl, registration, documentationUrl };
  }),

  /** The table of permissions: what each allows, in words, and which roles hold it. */
  permissions: publicProcedure.query(() =>
    permissions.map((permission) => ({
      name: permission,
      description: permissionCatalogue[permission],
      roles: roles.filter((role) => roleHolds(role, permission)),
    })),
  ),
});
