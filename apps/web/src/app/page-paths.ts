/**
 * The paths of all pages, in the router's notation, where `$name` matches one segment. The server
 * responds to these paths with the app's page, and to all other paths with 404. A test compares
 * this list with the router.
 */
export const pagePaths = [
  "/",
  "/sign-in",
  "/sign-in/openid",
  "/sign-up",
  "/forgot-password",
  "/reset-password",
  "/confirm-email",
  "/verify-email",
  "/invitation",
  "/w/$slug",
  "/w/$slug/api-keys",
  "/w/$slug/members",
  "/w/$slug/members/invitations",
  "/w/$slug/members/service-accounts",
  "/w/$slug/members/service-accounts/$userId",
  "/w/$slug/audit",
  "/w/$slug/webhooks",
  "/w/$slug/webhooks/$webhookId",
  "/w/$slug/settings",
  "/account",
  "/account/api-keys",
  "/account/api-keys/$keyId",
  "/account/notices",
  "/account/profile",
  "/account/requests/$requestId",
  "/account/security",
  "/operator/users",
  "/operator/workspaces",
  "/operator/instance",
  "/operator/log",
] as const;
