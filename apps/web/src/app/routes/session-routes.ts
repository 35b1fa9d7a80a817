import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { findSameOriginPath } from "../../features/session/same-origin-path.ts";
import { SessionSkeleton } from "../../features/session/session-skeleton.tsx";
import { hasNoAccounts, loadSession } from "./load-session.ts";
import { rootRoute } from "./root-route.ts";

interface SignInSearch {
  readonly next?: string;
  /** Present if the user is redirected here because the session ended. */
  readonly ended?: "yes";
}

function parseSignInSearch(search: Record<string, unknown>): SignInSearch {
  const next = findSameOriginPath(search.next, window.location.origin);
  return { ...(next && { next }), ...(search.ended === "yes" && { ended: "yes" }) };
}

/** Redirects a signed-in user to the page in `next`. */
async function redirectIfSignedIn({ search }: { readonly search: SignInSearch }) {
  if (await loadSession()) throw redirect({ href: search.next ?? "/", replace: true });
}

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-in",
  validateSearch: parseSignInSearch,
  beforeLoad: redirectIfSignedIn,
  component: lazyRouteComponent(() => import("../../features/session/sign-in-page.tsx"), "SignInPage"),
  pendingComponent: SessionSkeleton,
});

interface OpenidSearch {
  readonly code?: string;
  readonly state?: string;
  readonly iss?: string;
}

/** What the OpenID provider adds to the URL. */
function parseOpenidSearch({ code, state, iss }: Record<string, unknown>): OpenidSearch {
  return {
    ...(typeof code === "string" && { code }),
    ...(typeof state === "string" && { state }),
    ...(typeof iss === "string" && { iss }),
  };
}

const openidRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-in/openid",
  validateSearch: parseOpenidSearch,
  component: lazyRouteComponent(() => import("../../features/session/openid-page.tsx"), "OpenidPage"),
  pendingComponent: SessionSkeleton,
});

const signUpRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-up",
  validateSearch: parseSignInSearch,
  beforeLoad: async (visit) => {
    // tRPC batches both. Without the second result, the page could first say that sign-up is closed, and then show the form.
    await Promise.all([redirectIfSignedIn(visit), hasNoAccounts()]);
  },
  component: lazyRouteComponent(() => import("../../features/session/sign-up-page.tsx"), "SignUpPage"),
  pendingComponent: SessionSkeleton,
});

const forgotPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/forgot-password",
  beforeLoad: async () => {
    await loadSession();
  },
  component: lazyRouteComponent(
    () => import("../../features/session/forgot-password-page.tsx"),
    "ForgotPasswordPage",
  ),
  pendingComponent: SessionSkeleton,
});

const resetPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/reset-password",
  component: lazyRouteComponent(
    () => import("../../features/session/reset-password-page.tsx"),
    "ResetPasswordPage",
  ),
  pendingComponent: SessionSkeleton,
});

const confirmEmailRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/confirm-email",
  beforeLoad: async () => {
    await loadSession();
  },
  component: lazyRouteComponent(
    () => import("../../features/session/confirm-email-page.tsx"),
    "ConfirmEmailPage",
  ),
  pendingComponent: SessionSkeleton,
});

const verifyEmailRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/verify-email",
  beforeLoad: async () => {
    await loadSession();
  },
  component: lazyRouteComponent(
    () => import("../../features/session/verify-email-page.tsx"),
    "VerifyEmailPage",
  ),
  pendingComponent: SessionSkeleton,
});

const invitationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/invitation",
  beforeLoad: async () => {
    await loadSession();
  },
  component: lazyRouteComponent(() => import("../../features/session/invitation-page.tsx"), "InvitationPage"),
  pendingComponent: SessionSkeleton,
});

/** The pages for visitors. */
export const sessionRoutes = [
  signInRoute,
  signUpRoute,
  forgotPasswordRoute,
  openidRoute,
  resetPasswordRoute,
  confirmEmailRoute,
  verifyEmailRoute,
  invitationRoute,
] as const;
