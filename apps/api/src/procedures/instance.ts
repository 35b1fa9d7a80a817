import {
  permissionCatalog,
  permissions,
  roleCatalog,
  roleHasPermission,
  roles,
} from "@latchkey/auth/permissions";
import { hasAccounts } from "../domain/services.ts";
import { createRouter, publicProcedure } from "./trpc.ts";

const hasNoAccounts = publicProcedure.query(async ({ ctx }) => !(await hasAccounts(ctx.services)));

export const instanceRouter = createRouter({
  /** The data of the sign-in pages. */
  get: publicProcedure.query(({ ctx }) => {
    const { name, version, baseUrl, registration, documentationUrl } = ctx.services.configuration;
    const { sendsEmail, historyDays, relyingParty, openid } = ctx.services;
    const passkeyOrigin = relyingParty?.origin ?? null;
    const openidName = openid?.name ?? null;
    return {
      name,
      version,
      baseUrl,
      registration,
      documentationUrl,
      sendsEmail,
      historyDays,
      passkeyOrigin,
      openidName,
    };
  }),

  /** Whether no user exists yet: the first account becomes the operator. */
  hasNoAccounts,
  /** The former name, which the web app calls until the previous release supports the new one. */
  isFresh: hasNoAccounts,

  /** The permissions: a description of each, and the roles that have it. */
  permissions: publicProcedure.query(() =>
    permissions.map((permission) => ({
      name: permission,
      description: permissionCatalog[permission],
      roles: roles.filter((role) => roleHasPermission(role, permission)),
    })),
  ),

  /** The roles, from most to least powerful, with what each of them may change. */
  roles: publicProcedure.query(() => roles.map((role) => ({ name: role, description: roleCatalog[role] }))),
});
