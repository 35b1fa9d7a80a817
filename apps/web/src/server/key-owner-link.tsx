import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { ApiKey } from "./trpc.ts";

const app = getRouteApi("/app");

type OwnedKey = Pick<ApiKey, "serviceAccount">;

/** The list that a key is in: the user's own keys, or those of a service account. */
export function KeyOwnerLink({ apiKey }: { readonly apiKey: OwnedKey }): ReactElement {
  const account = useServiceAccount(apiKey);
  if (!account) return <Link to="/account/api-keys">Your API keys</Link>;
  return (
    <Link {...account.page}>
      <bdi>{account.name}</bdi>
    </Link>
  );
}

/** The service account that owns a key, with its page; undefined for the user's own keys. */
export function useServiceAccount({ serviceAccount }: OwnedKey) {
  const { workspaces } = app.useRouteContext().session;
  const slug = workspaces.find(({ id }) => id === serviceAccount?.workspaceId)?.slug;
  if (!serviceAccount || slug === undefined) return undefined;
  const params = { slug, userId: serviceAccount.userId };
  return {
    name: serviceAccount.name,
    page: { to: "/w/$slug/members/service-accounts/$userId", params } as const,
  };
}
