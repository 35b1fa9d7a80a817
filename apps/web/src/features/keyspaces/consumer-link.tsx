import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

interface ConsumerLinkProps {
  readonly slug: string;
  readonly keyspaceId: string;
  readonly externalId: string;
  readonly className?: string | undefined;
}

/** A link to the page of a consumer. `bdi` isolates right-to-left IDs from the surrounding text. */
export function ConsumerLink({ slug, keyspaceId, externalId, className }: ConsumerLinkProps): ReactElement {
  return (
    <Link
      className={className}
      title={externalId}
      to="/w/$slug/keyspaces/$keyspaceId/consumers/$externalId"
      params={{ slug, keyspaceId, externalId }}
    >
      <bdi>{externalId}</bdi>
    </Link>
  );
}
