import { Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil, IconRefresh } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { IssuedKey, Keyspace, SessionWorkspace } from "../../server/trpc.ts";
import { titleOfKey } from "../../ui/issued-key-title.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { ConsumerLink } from "./consumer-link.tsx";
import { DisabledBanner } from "./disabled-banner.tsx";
import { IssuedKeyChangesSection } from "./issued-key-changes-section.tsx";
import { IssuedKeyDangerSection } from "./issued-key-danger-section.tsx";
import { IssuedKeyRejectionsSection } from "./issued-key-rejections-section.tsx";
import { SecretsSection } from "./issued-key-secrets-section.tsx";
import { DetailsSection, SettingsSection } from "./issued-key-sections.tsx";
import { IssuedKeyStatus } from "./issued-key-status.tsx";
import { IssuedKeyUsageSection } from "./issued-key-usage-section.tsx";
import { ItemFrame, KeyspaceFrame } from "./keyspace-frame.tsx";
import { TryButton } from "./try-button.tsx";
import { useIssuedKey } from "./use-keyspaces.ts";

const route = getRouteApi("/app/w/$slug/keyspaces/$keyspaceId/keys/$keyId");
const editDialog = {
  load: () => import("./edit-issued-key-dialog.tsx").then((module) => module.EditIssuedKeyDialog),
  closed: { isOpen: false },
};
const rotateDialog = {
  load: () => import("./rotate-issued-key-dialog.tsx").then((module) => module.RotateIssuedKeyDialog),
  closed: { isOpen: false },
};

const creditsDialog = {
  load: () => import("./credits-dialog.tsx").then((module) => module.CreditsDialog),
  closed: { isOpen: false },
};

/** The page of an issued key. */
export function IssuedKeyPage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const { keyspaceId, keyId } = route.useParams();
  const query = useIssuedKey({ workspaceId: workspace.id, keyspaceId, id: keyId });
  return (
    // Remounts for another key, so that no state is kept.
    <KeyspaceFrame key={keyId} workspace={workspace} keyspaceId={keyspaceId}>
      {(keyspace, access) => (
        <ItemFrame workspace={workspace} noun="Key" query={query}>
          {(issuedKey) => (
            <Loaded
              workspace={workspace}
              keyspace={keyspace}
              issuedKey={issuedKey}
              canManage={access.can("keys:manage")}
              canVerify={access.can("keys:verify")}
              canReadLog={access.can("audit:read")}
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
  readonly issuedKey: IssuedKey;
  readonly canManage: boolean;
  readonly canVerify: boolean;
  readonly canReadLog: boolean;
}

function Loaded(props: LoadedProps): ReactElement {
  const { workspace, keyspace, issuedKey, canManage, canVerify, canReadLog } = props;
  const { keyspaceId } = issuedKey;
  const path = { workspaceId: workspace.id, keyspaceId, id: issuedKey.id };
  const [isEditOpen, edit] = useDisclosure(false);
  const [isRotateOpen, rotation] = useDisclosure(false);
  const [areCreditsOpen, credits] = useDisclosure(false);
  const dialogProps = { workspaceId: workspace.id, issuedKey };
  return (
    <>
      <PageHeader
        title={titleOfKey(issuedKey)}
        parent={
          <Link to="/w/$slug/keyspaces/$keyspaceId" params={{ slug: workspace.slug, keyspaceId }}>
            {keyspace.name}
          </Link>
        }
        tags={<IssuedKeyStatus issuedKey={issuedKey} />}
        explanation={
          issuedKey.externalId === null ? (
            "A key of your API that belongs to no consumer."
          ) : (
            <>
              A key that you issued to{" "}
              <ConsumerLink slug={workspace.slug} keyspaceId={keyspaceId} externalId={issuedKey.externalId} />
              .
            </>
          )
        }
        action={
          <Group gap={8}>
            {canVerify && <TryButton workspace={workspace} keyspace={keyspace} />}
            {canManage && (
              <>
                <Button variant="default" leftSection={<IconPencil size={16} />} onClick={edit.open}>
                  Edit
                </Button>
                <Button leftSection={<IconRefresh size={16} />} onClick={rotation.open}>
                  Rotate
                </Button>
              </>
            )}
          </Group>
        }
      />
      {keyspace.isDisabled && (
        <DisabledBanner>
          <strong>The keyspace of this key is disabled.</strong> None of its keys is valid until the keyspace
          is enabled.
        </DisabledBanner>
      )}
      {issuedKey.isDisabled && (
        <DisabledBanner>
          <strong>This key is disabled.</strong> It is not valid until it is enabled.
        </DisabledBanner>
      )}
      <SettingsSection
        workspace={workspace}
        issuedKey={issuedKey}
        canManage={canManage}
        onChangeCredits={credits.open}
      />
      <SecretsSection workspaceId={workspace.id} issuedKey={issuedKey} canManage={canManage} />
      <IssuedKeyUsageSection path={path} issuedKey={issuedKey} />
      <IssuedKeyRejectionsSection path={path} />
      <IssuedKeyChangesSection path={path} slug={workspace.slug} canReadLog={canReadLog} />
      <DetailsSection issuedKey={issuedKey} />
      {canManage && <IssuedKeyDangerSection workspace={workspace} issuedKey={issuedKey} />}
      <LazyDialog source={editDialog} props={{ ...dialogProps, isOpen: isEditOpen, onClose: edit.close }} />
      <LazyDialog
        source={creditsDialog}
        props={{ ...dialogProps, isOpen: areCreditsOpen, onClose: credits.close }}
      />
      <LazyDialog
        source={rotateDialog}
        props={{ ...dialogProps, isOpen: isRotateOpen, onClose: rotation.close }}
      />
    </>
  );
}
