import { Button, Group, Skeleton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { actionTitles } from "../../server/action-titles.ts";
import { isNotFound } from "../../server/failure.ts";
import type { SessionWorkspace, Webhook } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../server/use-workspace-access.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { describeExactly } from "../../ui/elapsed.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { DeliveriesSection } from "./deliveries-section.tsx";
import { TestMessageButton } from "./test-message-button.tsx";
import { useWebhook } from "./use-webhooks.ts";
import { WebhookDangerSection } from "./webhook-danger-section.tsx";
import { describeWebhookStatus } from "./webhook-status.ts";
import { WebhooksForbidden } from "./webhooks-forbidden.tsx";

const route = getRouteApi("/app/w/$slug/webhooks/$webhookId");
const editDialog = {
  load: () => import("./edit-webhook-dialog.tsx").then((module) => module.EditWebhookDialog),
  closed: { isOpen: false },
};
const rotateDialog = {
  load: () => import("./rotate-webhook-dialog.tsx").then((module) => module.RotateWebhookDialog),
  closed: { isOpen: false },
};

/** A webhook: its settings, and the log of its deliveries. */
export function WebhookPage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const parent = (
    <Link to="/w/$slug/webhooks" params={{ slug: workspace.slug }}>
      Webhooks
    </Link>
  );
  return access.can("webhooks:manage") ? (
    <Loaded workspace={workspace} parent={parent} />
  ) : (
    <>
      <PageHeader title="Webhook" parent={parent} explanation="Receives events of the audit log." />
      <WebhooksForbidden slug={workspace.slug} access={access} />
    </>
  );
}

interface LoadedProps {
  readonly workspace: SessionWorkspace;
  /** A link to the list of webhooks. */
  readonly parent: ReactElement;
}

function Loaded({ workspace, parent }: LoadedProps): ReactElement {
  const { webhookId: id } = route.useParams();
  const query = useWebhook({ workspaceId: workspace.id, id });
  const failure = useLoadingFailure(query);
  if (isNotFound(query.error)) {
    return (
      <>
        <PageHeader title="Webhook" parent={parent} explanation="It doesn’t exist, or it was deleted." />
        <WebhookNotFound slug={workspace.slug} />
      </>
    );
  }
  const webhook = query.data;
  return (
    <>
      <PageHeader
        title={webhook ? new URL(webhook.url).host : "Webhook"}
        explanation={
          webhook?.description ? <bdi>{webhook.description}</bdi> : "Receives events of the audit log."
        }
        parent={parent}
        tags={webhook && <StatusBadge {...describeWebhookStatus(webhook)} />}
        action={webhook && <Actions workspace={workspace} webhook={webhook} />}
      />
      {failure ? (
        <FailurePanel
          title="Couldn’t load the webhook"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={query.isFetching}
          onRetry={() => void query.refetch()}
        />
      ) : webhook ? (
        <>
          <Details webhook={webhook} />
          <DeliveriesSection workspaceId={workspace.id} webhook={webhook} />
          <WebhookDangerSection workspace={workspace} webhook={webhook} />
        </>
      ) : (
        <Skeleton h={160} />
      )}
    </>
  );
}

function WebhookNotFound({ slug }: { readonly slug: string }): ReactElement {
  return (
    <EmptyPanel
      title="Webhook not found"
      action={
        <Button
          variant="default"
          renderRoot={(props) => <Link {...props} to="/w/$slug/webhooks" params={{ slug }} />}
        >
          Go to webhooks
        </Button>
      }
    >
      The webhook was deleted, or the URL is incomplete.
    </EmptyPanel>
  );
}

interface WebhookProps {
  readonly workspace: SessionWorkspace;
  readonly webhook: Webhook;
}

function Actions({ workspace, webhook }: WebhookProps): ReactElement {
  const [isEditOpen, edit] = useDisclosure(false);
  const [isRotateOpen, rotation] = useDisclosure(false);
  const dialogProps = { workspaceId: workspace.id, webhook };
  return (
    <Group gap={8}>
      <TestMessageButton workspaceId={workspace.id} webhook={webhook} label="Send test message" />
      <Button variant="default" onClick={rotation.open}>
        Rotate secret
      </Button>
      <Button leftSection={<IconPencil size={16} />} onClick={edit.open}>
        Edit
      </Button>
      <LazyDialog source={editDialog} props={{ ...dialogProps, isOpen: isEditOpen, onClose: edit.close }} />
      <LazyDialog
        source={rotateDialog}
        props={{ ...dialogProps, isOpen: isRotateOpen, onClose: rotation.close }}
      />
    </Group>
  );
}

const disabledTexts = {
  user: "This webhook was disabled manually.",
  failures: "This webhook was disabled because no message was delivered for three days.",
  gone: "This webhook was disabled because the server responded with 410 Gone.",
} as const satisfies Record<NonNullable<Webhook["disabledReason"]>, string>;

function Details({ webhook }: { readonly webhook: Webhook }): ReactElement {
  const { url, actions, disabledReason, failingSince, formerSecretExpiresAt } = webhook;
  return (
    <Section title="Details">
      <dl className={sectionClasses.facts}>
        <dt>URL</dt>
        <dd>
          <code>{url}</code>
          <CopyButton text={url} label="Copy URL" />
        </dd>
        <dt>Events</dt>
        <dd>
          {actions
            ? actions.map((action) => actionTitles[action] ?? action).join(", ")
            : "All events, including future ones"}
        </dd>
        <dt>Old secret</dt>
        <dd>
          {formerSecretExpiresAt === null ? (
            <EmptyCell />
          ) : (
            `Also signs messages until ${describeExactly(new Date(formerSecretExpiresAt))}`
          )}
        </dd>
        <dt>Created</dt>
        <dd>
          <RelativeTime at={webhook.createdAt} />
        </dd>
      </dl>
      {disabledReason && <p className={sectionClasses.note}>{disabledTexts[disabledReason]}</p>}
      {!disabledReason && failingSince && (
        <p className={sectionClasses.note}>
          Deliveries have failed since {describeExactly(new Date(failingSince))}. After three days of
          failures, the webhook is disabled as soon as a message fails on its last attempt.
        </p>
      )}
    </Section>
  );
}
