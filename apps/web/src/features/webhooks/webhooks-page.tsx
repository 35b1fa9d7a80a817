import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useMemo } from "react";
import type { SessionWorkspace, Webhook } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../server/use-workspace-access.ts";
import { BulkBar } from "../../ui/bulk-bar.tsx";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { useWebhooks } from "./use-webhooks.ts";
import { bulkWebhooks, webhookActions } from "./webhook-bulk-actions.ts";
import { webhookColumns } from "./webhook-columns.tsx";
import { WebhooksForbidden } from "./webhooks-forbidden.tsx";
import { defaultWebhookSort, type WebhooksSearch, webhookStatusTitles } from "./webhooks-search.ts";

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
        explanation="Send audit log events to your own servers, a few milliseconds after each change."
        action={
          isAllowed && (
            <Button leftSection={<IconPlus size={16} />} onClick={creation.open} flex="none">
              New webhook
            </Button>
          )
        }
      />
      {isAllowed ? (
        <Webhooks workspace={workspace} onCreate={creation.open} />
      ) : (
        <WebhooksForbidden slug={workspace.slug} access={access} />
      )}
      <LazyDialog
        source={newWebhookDialog}
        props={{ workspace, isOpen: isNewOpen, onClose: creation.close }}
      />
    </>
  );
}

interface WebhooksProps {
  readonly workspace: SessionWorkspace;
  readonly onCreate: () => void;
}

function Webhooks({ workspace, onCreate }: WebhooksProps): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const webhooks = useWebhooks(workspace.id, search);
  const list = useGrowingList(webhooks);
  const table = useTableNavigation<WebhooksSearch>({ navigate });
  const columns = useMemo(() => webhookColumns(workspace.slug), [workspace.slug]);
  const isFiltered = search.q !== undefined || search.status !== undefined;
  return (
    <GrowingTable
      label="Webhooks"
      searchField={{ label: "Search webhooks", placeholder: "Search by URL or description" }}
      filters={
        <FilterSelect
          label="Status"
          anyLabel="Any status"
          options={webhookStatusTitles}
          value={search.status}
          onChoose={(status) => table.change({ status })}
        />
      }
      list={list}
      nouns={bulkWebhooks.nouns}
      total={webhooks.data?.pages.at(-1)?.total ?? 0}
      isFiltered={isFiltered}
      failureTitle="Couldn’t load webhooks"
      columns={columns}
      isTall
      idOf={idOf}
      search={search}
      navigation={table}
      defaultSort={defaultWebhookSort}
      onOpen={({ id }) =>
        void navigate({
          to: "/w/$slug/webhooks/$webhookId",
          params: { slug: workspace.slug, webhookId: id },
        })
      }
      selection={{
        nameOf: bulkWebhooks.nameOf,
        bar: (items, onSelect) => (
          <BulkBar
            {...bulkWebhooks}
            items={items}
            actions={webhookActions(workspace.id)}
            onSelect={onSelect}
          />
        ),
      }}
      empty={
        isFiltered ? (
          <NoMatch
            noun="webhook"
            search={search.q}
            hasFilters={search.status !== undefined}
            onClear={() => table.change({ q: undefined, status: undefined })}
          >
            Search covers URLs and descriptions.
          </NoMatch>
        ) : (
          <NoWebhooks onCreate={onCreate} />
        )
      }
    />
  );
}

function idOf({ id }: Webhook): string {
  return id;
}

function NoWebhooks({ onCreate }: Pick<WebhooksProps, "onCreate">): ReactElement {
  return (
    <EmptyPanel
      title="No webhooks yet"
      action={
        <Button leftSection={<IconPlus size={16} />} onClick={onCreate}>
          Create your first webhook
        </Button>
      }
    >
      Create one to send changes to members, roles and API keys to your SIEM or another server. Messages
      follow Standard Webhooks.
    </EmptyPanel>
  );
}
