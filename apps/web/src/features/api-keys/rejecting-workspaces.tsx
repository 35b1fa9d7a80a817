import { IconBan } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { type RejectingWorkspace, trpc } from "../../server/trpc.ts";
import { describeRemedy, describeRule } from "../../ui/describe-violation.ts";
import { describeExactly } from "../../ui/elapsed.ts";
import { OwnerName } from "../../ui/owner-name.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import classes from "./key-banner.module.css";

/** The workspaces that reject a key, each with the reason and what to do. Renders nothing if there are none. */
export function RejectingWorkspaces({ keyId }: { readonly keyId: string }): ReactElement | null {
  const { data } = useQuery(trpc.apiKeys.rejectingWorkspaces.queryOptions({ id: keyId }));
  if (!data || data.length === 0) return null;
  return (
    <>
      {data.map((rejecting) => (
        <section
          key={rejecting.workspace.id}
          className={classes.banner}
          aria-label={`Access to ${rejecting.workspace.name}`}
        >
          <IconBan size={18} className={classes.icon} aria-hidden="true" />
          <Reason rejecting={rejecting} />
        </section>
      ))}
    </>
  );
}

function Reason({ rejecting }: { readonly rejecting: RejectingWorkspace }): ReactElement {
  const { workspace, isBlocked, blockedAt, blockedByName, blockedByKind, violation, policy } = rejecting;
  const name = <Quoted>{workspace.name}</Quoted>;
  if (isBlocked) {
    return (
      <p>
        <strong>{name} blocked this key.</strong>{" "}
        {blockedByName === null ? "An admin" : <OwnerName name={blockedByName} kind={blockedByKind} />}{" "}
        blocked it
        {blockedAt !== null && ` ${describeExactly(new Date(blockedAt))}`}. Ask an owner or admin of the
        workspace to unblock it. Other workspaces accept the key.
      </p>
    );
  }
  return (
    <p>
      <strong>{name} rejects this key.</strong>{" "}
      {violation && (
        <>
          Its policy says that keys {describeRule(violation, policy)}. {describeRemedy(violation)}
        </>
      )}
    </p>
  );
}
