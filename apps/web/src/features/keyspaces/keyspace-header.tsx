import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { Keyspace, SessionWorkspace } from "../../server/trpc.ts";
import { PageHeader } from "../../ui/page-header.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { Tag } from "../../ui/tag.tsx";
import { DisabledBanner } from "./disabled-banner.tsx";
import { describeKeyspaceStatus } from "./keyspace-status.ts";
import { KeyspaceTabs } from "./keyspace-tabs.tsx";

interface KeyspaceHeaderProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
  /** The title of the page in the browser, such as "Consumers"; absent for the first page. */
  readonly page?: string;
  readonly explanation: ReactNode;
  readonly action?: ReactNode;
}

/** The header of each page of a keyspace, with links to the others. */
export function KeyspaceHeader(props: KeyspaceHeaderProps): ReactElement {
  const { workspace, keyspace, page, explanation, action } = props;
  const { id, name, environment, isDisabled } = keyspace;
  return (
    <>
      <PageHeader
        title={name}
        {...(page !== undefined && { documentTitle: `${page} · ${name}` })}
        parent={
          <Link to="/w/$slug/keyspaces" params={{ slug: workspace.slug }}>
            Keyspaces
          </Link>
        }
        tags={
          <>
            <StatusBadge {...describeKeyspaceStatus(keyspace)} />
            {environment !== "" && <Tag>{environment}</Tag>}
          </>
        }
        explanation={explanation}
        action={action}
      />
      <KeyspaceTabs slug={workspace.slug} keyspaceId={id} />
      {isDisabled && (
        <DisabledBanner>
          <strong>This keyspace is disabled.</strong> None of its keys is valid until it is enabled.
        </DisabledBanner>
      )}
    </>
  );
}
