import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useMemo } from "react";
import { describeFailure } from "../../server/failure.ts";
import { describeHolders, withArticle } from "../../server/roles.ts";
import type { SessionWorkspace, Webhook } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../server/use-workspace-access.ts";
import { countOf } from "../../ui/count.ts";
import { DataTable } from "../../ui/data-table.tsx";
import emptyClasses from "../../ui/empty.module.css";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { ShowMore } from "../../ui/show-more.tsx";
import { useWebhooks } from "./use-webhooks.ts";
import { webhookColumns } from "./webhook-columns.tsx";
import { defaultWebhookSort, isWebhookSort } from "./webhooks-search.ts";

const route = getRouteApi("/app/w/$slug/webhooks");
const newWebhookDialog = {
  load: () => import("./new-webhook-dialog.tsx").then((module) => module.NewWebhookDialog),
  closed: { isOpen: false },
};

/** The webhooks of a workspace. */
export function WebhooksPage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  const [isNewOpen, creation] = useDisclosure(false);
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const isAllowed = access.can("webhooks:manage");
  return (
    <>
      <PageHeader
        title="Webhooks"
        explanation="URLs to which the events of the audit log are sent, a few milliseconds after each change."
        action={
          isAllowed && (
            <Button leftSection={<IconPlus size={16} />} onClick={creation.open} flex="none">
              New webhook
            </Button>
          )
        }
      />
      {isAllowed ? (
        <Webhooks workspace={workspace} />
      ) : (
        <section className={emptyClasses.panel}>
          <h2 className={emptyClasses.title}>Your role can’t manage webhooks</h2>
          <p className={emptyClasses.words}>
            You are {withArticle(access.role)} here; only {describeHolders(access.holders("webhooks:manage"))}{" "}
            can see and change them.
          </p>
        </section>
      )}
      <LazyDialog
        source={newWebhookDialog}
        props={{ workspace, isOpen: isNewOpen, onClose: creation.close }}
      />
    </>
  );
}

function Webhooks({ workspace }: { readonly workspace: SessionWorkspace }): ReactElement {
  const { sort = defaultWebhookSort } = route.useSearch();
  const navigate = route.useNavigate();
  const webhooks = useWebhooks(workspace.id, { sort });
  const failure = useLoadingFailure(webhooks);
  const columns = useMemo(() => webhookColumns(workspace.slug), [workspace.slug]);
  const shown = webhooks.data?.pages.flatMap(({ items }) => items);
  if (failure) {
    return (
      <FailurePanel
        title="Couldn’t load webhooks"
        message={failure.message}
        requestId={failure.requestId}
        isRetrying={webhooks.isFetching}
        onRetry={() => void webhooks.refetch()}
      />
    );
  }
  if (shown?.length === 0) return <NoWebhooks />;
  return (
    <>
      <DataTable
        label="Webhooks"
        columns={columns}
        items={shown}
        isStale={webhooks.isPlaceholderData}
        idOf={idOf}
        chosen={undefined}
        sort={sort}
        onSort={(next) =>
          void navigate({
            search: isWebhookSort(next) && next !== defaultWebhookSort ? { sort: next } : {},
            replace: true,
          })
        }
        onOpen={({ id }) =>
          void navigate({
            to: "/w/$slug/webhooks/$webhookId",
            params: { slug: workspace.slug, webhookId: id },
          })
        }
      />
      {shown && (webhooks.hasNextPage || shown.length > 50) && (
        <ShowMore
          hasMore={webhooks.hasNextPage}
          isLoading={webhooks.isFetchingNextPage}
          failure={
            webhooks.isFetchNextPageError
              ? `Couldn’t load more. ${describeFailure(webhooks.error).message}`
              : undefined
          }
          onShowMore={() => void webhooks.fetchNextPage()}
        >
          {countOf(shown.length, "webhook", "webhooks")}
        </ShowMore>
      )}
    </>
  );
}

function idOf({ id }: Webhook): string {
  return id;
}

function NoWebhooks(): ReactElement {
  return (
    <section className={emptyClasses.panel}>
      <h2 className={emptyClasses.title}>No webhooks</h2>
      <p className={emptyClasses.words}>
        Create one to send changes to members, roles and API keys to your SIEM or another server. Messages
        follow Standard Webhooks.
      </p>
    </section>
  );
}
