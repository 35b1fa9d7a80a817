import { Link, linkOptions } from "@tanstack/react-router";
import type { ReactElement } from "react";
import classes from "./keyspace-tabs.module.css";

interface KeyspaceTabsProps {
  readonly slug: string;
  readonly keyspaceId: string;
}

/** The pages of a keyspace, in the order of their links. */
function keyspacePages(params: KeyspaceTabsProps) {
  return [
    { label: "Keys", link: linkOptions({ to: "/w/$slug/keyspaces/$keyspaceId", params }) },
    { label: "Consumers", link: linkOptions({ to: "/w/$slug/keyspaces/$keyspaceId/consumers", params }) },
    { label: "Usage", link: linkOptions({ to: "/w/$slug/keyspaces/$keyspaceId/usage", params }) },
  ] as const;
}

/** Links between the pages of a keyspace, below the header of each. */
export function KeyspaceTabs(params: KeyspaceTabsProps): ReactElement {
  return (
    <nav className={classes.tabs} aria-label="Keyspace">
      {keyspacePages(params).map(({ label, link }) => (
        <Link
          key={label}
          {...link}
          className={classes.tab}
          activeOptions={{ exact: true, includeSearch: false }}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}
