import { Button, Group, Skeleton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useRef } from "react";
import { describeFailure } from "../../../server/failure.ts";
import { roles } from "../../../server/roles.ts";
import { type ServiceAccount, type SessionWorkspace, trpc } from "../../../server/trpc.ts";
import { useLoadingFailure } from "../../../server/use-loading-failure.ts";
import { useSessionChanges } from "../../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../../server/use-workspace-access.ts";
import { EmptyPanel } from "../../../ui/empty-panel.tsx";
import { FailurePanel } from "../../../ui/failure-panel.tsx";
import { LazyDialog } from "../../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../../ui/lost-access.tsx";
import { PageHeader } from "../../../ui/page-header.tsx";
import { Tag } from "../../../ui/tag.tsx";
import { ServiceAccountDanger } from "./service-account-danger.tsx";
import { ServiceAccountKeys } from "./service-account-keys.tsx";

const route = getRouteApi("/app/w/$slug/members/service-accounts/$userId");
const editDialog = {
  load: () => import("./service-account-dialog.tsx").then((module) => module.ServiceAccountDialog),
  closed: { isOpen: false },
};
const newKeyDialog = {
  load: () => import("../new-api-key-dialog.tsx").then((module) => module.NewApiKeyDialog),
  closed: { isOpen: false },
};

/** A service account of a workspace, with its API keys. */
export function ServiceAccountPage(): ReactElement {
  const { userId } = route.useParams();
  // Remounts for another service account, so that no state is kept.
  return <Page key={userId} userId={userId} />;
}

function Page({ userId }: { readonly userId: string }): ReactElement {
  const { workspace } = route.useRouteContext();
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  const query = useQuery(trpc.serviceAccounts.get.queryOptions({ workspaceId: workspace.id, userId }));
  const failure = useLoadingFailure(query);
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const code = query.error === null ? undefined : describeFailure(query.error).code;
  if (code === "NOT_FOUND" || code === "BAD_REQUEST") return <NotFound workspace={workspace} />;
  if (failure) {
    return (
      <>
        <PageHeader title="Service account" explanation="A member that is not a person." />
        <FailurePanel
          title="Couldn’t load the service account"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={query.isFetching}
          onRetry={() => void query.refetch()}
        />
      </>
    );
  }
  if (!query.data) return <Skeleton h={300} role="status" aria-label="Loading the service account" />;
  const canManage = access.can("members:manage");
  return <Loaded workspace={workspace} account={query.data} canManage={canManage} />;
}

interface LoadedProps {
  readonly workspace: SessionWorkspace;
  readonly account: ServiceAccount;
  readonly canManage: boolean;
}

function Loaded({ workspace, account, canManage }: LoadedProps): ReactElement {
  const [isEditOpen, edit] = useDisclosure(false);
  const [isKeyOpen, newKey] = useDisclosure(false);
  const title = useRef<HTMLHeadingElement>(null);
  return (
    <>
      <PageHeader
        title={account.name}
        titleRef={title}
        parent={
          <Link to="/w/$slug/members/service-accounts" params={{ slug: workspace.slug }}>
            Service accounts
          </Link>
        }
        tags={account.isDisabled && <Tag>Disabled</Tag>}
        explanation={`Service account with the ${account.role} role. Its API keys act with this role in this workspace only.`}
        action={
          canManage && (
            <Group gap={8} wrap="nowrap">
              <Button variant="default" leftSection={<IconPencil size={16} />} onClick={edit.open}>
                Edit
              </Button>
              <Button leftSection={<IconPlus size={16} />} onClick={newKey.open}>
                New API key
              </Button>
            </Group>
          )
        }
      />
      {canManage ? (
        <>
          <ServiceAccountKeys workspaceId={workspace.id} userId={account.userId} onCreate={newKey.open} />
          <ServiceAccountDanger workspace={workspace} account={account} />
        </>
      ) : (
        <EmptyPanel title="Your role can’t manage its API keys">
          Owners and admins see and manage them.
        </EmptyPanel>
      )}
      <LazyDialog
        source={editDialog}
        props={{ workspace, grantableRoles: roles, account, isOpen: isEditOpen, onClose: edit.close }}
      />
      <LazyDialog
        source={newKeyDialog}
        props={{
          serviceAccount: { workspaceId: workspace.id, userId: account.userId },
          isOpen: isKeyOpen,
          onClose: newKey.close,
        }}
      />
    </>
  );
}

function NotFound({ workspace }: { readonly workspace: SessionWorkspace }): ReactElement {
  return (
    <>
      <PageHeader title="Service account" explanation="A member that is not a person." />
      <EmptyPanel
        title="Service account not found"
        action={
          <Button
            variant="default"
            renderRoot={(props) => (
              <Link {...props} to="/w/$slug/members/service-accounts" params={{ slug: workspace.slug }} />
            )}
          >
            Go to service accounts
          </Button>
        }
      >
        It was deleted, or the URL is incomplete.
      </EmptyPanel>
    </>
  );
}
