/**
 * The paths of all pages, in the notation of the router, where `$name` stands for one segment. The server answers them
 * with the app's page and every other path with 404. A test compares this list with the router.
 */
export const pagePaths = [
  "/",
  "/sign-in",
  "/sign-up",
  "/w/$slug",
  "/w/$slug/api-keys",
  "/w/$slug/members",
  "/w/$slug/audit",
  "/w/$slug/settings",
  "/account",
  "/account/api-keys",
  "/account/api-keys/$keyId",
  "/account/requests/$requestId",
  "/account/security",
] as const;
