import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeHolders, withArticle } from "../../server/roles.ts";
import type { WorkspaceAccess } from "../../server/use-workspace-access.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";

interface WebhooksForbiddenProps {
  /** Of the workspace. */
  readonly slug: string;
  readonly access: Pick<WorkspaceAccess, "role" | "holders">;
}

/** Why the user sees no webhooks. */
export function WebhooksForbidden({ slug, access }: WebhooksForbiddenProps): ReactElement {
  return (
    <EmptyPanel
      title="Your role can’t manage webhooks"
      action={
        <Button
          variant="default"
          renderRoot={(props) => <Link {...props} to="/w/$slug/members" params={{ slug }} />}
        >
          View members
        </Button>
      }
    >
      You are {withArticle(access.role)} here; only {describeHolders(access.holders("webhooks:manage"))} can
      see and change them.
    </EmptyPanel>
  );
}
