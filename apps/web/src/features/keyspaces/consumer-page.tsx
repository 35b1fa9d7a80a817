import { Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Consumer, Keyspace, SessionWorkspace } from "../../server/trpc.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { Section } from "../../ui/section.tsx";
import { ConsumerDetails, ConsumerLimits } from "./consumer-sections.tsx";
import { DisabledBanner } from "./disabled-banner.tsx";
import { IssuedKeys } from "./issued-keys-section.tsx";
import { ItemFrame, KeyspaceFrame } from "./keyspace-frame.tsx";
import classes from "./keyspaces.module.css";
import { LazyConsumerFoot } from "./lazy-consumer-foot.tsx";
import { useConsumer } from "./use-keyspaces.ts";

const route = getRouteApi("/app/w/$slug/keyspaces/$keyspaceId/consumers/$externalId");
const issueDialog = {
  load: () => import("./issue-key-dialog.tsx").then((module) => module.IssueKeyDialog),
  closed: { isOpen: false },
};

/** A consumer with its keys. */
export function ConsumerPage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const { keyspaceId, externalId } = route.useParams();
  const query = useConsumer({ workspaceId: workspace.id, keyspaceId, externalId });
  return (
    // Remounts for another consumer, so that no state is kept.
    <KeyspaceFrame key={externalId} workspace={workspace} keyspaceId={keyspaceId}>
      {(keyspace, access) => (
        <ItemFrame workspace={workspace} noun="Consumer" query={query}>
          {(consumer) => (
            <Loaded
              workspace={workspace}
              keyspace={keyspace}
              consumer={consumer}
              canManage={access.can("keys:manage")}
            />
          )}
        </ItemFrame>
      )}
    </KeyspaceFrame>
  );
}

interface LoadedProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
  readonly consumer: Consumer;
  readonly canManage: boolean;
}

function Loaded({ workspace, keyspace, consumer, canManage }: LoadedProps): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [isIssueOpen, issuance] = useDisclosure(false);
  const { keyspaceId, externalId } = consumer;
  const params = { slug: workspace.slug, keyspaceId };
  return (
    <>
      <PageHeader
        title={externalId}
        parent={
          <span className={classes.path}>
            <Link to="/w/$slug/keyspaces/$keyspaceId" params={params}>
              <bdi>{keyspace.name}</bdi>
            </Link>
            <span aria-hidden="true">/</span>
            <Link to="/w/$slug/keyspaces/$keyspaceId/consumers" params={params}>
              Consumers
            </Link>
          </span>
        }
        explanation="A consumer of your API, with the keys that you issued to it."
        action={
          canManage && (
            <Group gap={8}>
              <Button leftSection={<IconPlus size={16} />} onClick={issuance.open}>
                Issue key
              </Button>
            </Group>
          )
        }
      />
      {keyspace.isDisabled && (
        <DisabledBanner>
          <strong>The keyspace of this consumer is disabled.</strong> None of its keys is valid until the
          keyspace is enabled.
        </DisabledBanner>
      )}
      <Section title="Keys" isWide>
        <IssuedKeys
          workspace={workspace}
          keyspace={keyspace}
          consumer={consumer}
          search={search}
          onSearch={navigate}
          canManage={canManage}
          onIssue={issuance.open}
        />
      </Section>
      <ConsumerLimits workspace={workspace} consumer={consumer} canManage={canManage} />
      <ConsumerDetails consumer={consumer} />
      <LazyConsumerFoot
        workspaceId={workspace.id}
        consumer={consumer}
        search={search}
        canManage={canManage}
        onChooseRange={(chosen) =>
          void navigate({
            search: ({ range: _range, ...before }) => ({ ...before, ...chosen }),
            replace: true,
            resetScroll: false,
          })
        }
      />
      <LazyDialog
        source={issueDialog}
        props={{
          workspaceId: workspace.id,
          keyspace,
          externalId,
          isOpen: isIssueOpen,
          onClose: issuance.close,
        }}
      />
    </>
  );
}
