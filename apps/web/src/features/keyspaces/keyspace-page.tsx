import { Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil, IconPlus, IconUpload } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Keyspace, SessionWorkspace } from "../../server/trpc.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { Section } from "../../ui/section.tsx";
import { useLoaded } from "../../ui/use-loaded.ts";
import { IssuedKeys } from "./issued-keys-section.tsx";
import { KeyspaceFrame } from "./keyspace-frame.tsx";
import { KeyspaceHeader } from "./keyspace-header.tsx";
import { KeyspaceDangerSection, KeyspaceDetails } from "./keyspace-sections.tsx";
import classes from "./keyspaces.module.css";
import { TryButton } from "./try-button.tsx";
import { useFirstVerification } from "./use-first-verification.ts";

const route = getRouteApi("/app/w/$slug/keyspaces/$keyspaceId");
const editDialog = {
  load: () => import("./edit-keyspace-dialog.tsx").then((module) => module.EditKeyspaceDialog),
  closed: { isOpen: false },
};
const issueDialog = {
  load: () => import("./issue-key-dialog.tsx").then((module) => module.IssueKeyDialog),
  closed: { isOpen: false },
};

const importDialog = {
  load: () => import("./import-keys-dialog.tsx").then((module) => module.ImportKeysDialog),
  closed: { isOpen: false },
};

/** The guide to the first verification, which most visits don't need. */
const guide = {
  load: () => import("./first-verification.tsx").then((module) => module.FirstVerification),
};

/** A keyspace with its keys. */
export function KeyspacePage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const { keyspaceId } = route.useParams();
  return (
    // Remounts for another keyspace, so that no state is kept.
    <KeyspaceFrame key={keyspaceId} workspace={workspace} keyspaceId={keyspaceId}>
      {(keyspace, access) => (
        <Loaded
          workspace={workspace}
          keyspace={keyspace}
          canManage={access.can("keyspaces:manage")}
          canIssue={access.can("keys:manage")}
          canVerify={access.can("keys:verify")}
        />
      )}
    </KeyspaceFrame>
  );
}

interface LoadedProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
  readonly canManage: boolean;
  readonly canIssue: boolean;
  readonly canVerify: boolean;
}

function Loaded({ workspace, keyspace, canManage, canIssue, canVerify }: LoadedProps): ReactElement {
  const [isEditOpen, edit] = useDisclosure(false);
  const [isIssueOpen, issuance] = useDisclosure(false);
  const [isImportOpen, importing] = useDisclosure(false);
  const { prefix } = keyspace;
  const path = { workspaceId: workspace.id, keyspaceId: keyspace.id };
  const isGuided = useFirstVerification(path);
  const [isGuideFailed, guideFailure] = useDisclosure(false);
  const needsGuide = isGuided === true && canIssue && keyspace.keyCount > 0 && !isGuideFailed;
  const Guide = useLoaded(guide, needsGuide, guideFailure.open);
  return (
    <>
      <KeyspaceHeader
        workspace={workspace}
        keyspace={keyspace}
        explanation={
          <>
            Its keys start with <code className={classes.mono}>{prefix}_</code>
          </>
        }
        action={
          <Group gap={8}>
            {canVerify && <TryButton workspace={workspace} keyspace={keyspace} />}
            {canManage && (
              <Button variant="default" leftSection={<IconPencil size={16} />} onClick={edit.open}>
                Edit
              </Button>
            )}
            {canIssue && (
              <Button variant="default" leftSection={<IconUpload size={16} />} onClick={importing.open}>
                Import keys
              </Button>
            )}
            {canIssue && (
              <Button leftSection={<IconPlus size={16} />} onClick={issuance.open}>
                Issue key
              </Button>
            )}
          </Group>
        }
      />
      <Section title="Keys" isWide>
        <IssuedKeys
          workspace={workspace}
          keyspace={keyspace}
          search={route.useSearch()}
          onSearch={route.useNavigate()}
          canManage={canIssue}
          onIssue={issuance.open}
        />
      </Section>
      {isGuided !== undefined && (!needsGuide || Guide) && (
        // Rendered when the guide is, which would otherwise move it.
        <>
          {needsGuide && Guide && <Guide workspaceId={workspace.id} keyspace={keyspace} />}
          <KeyspaceDetails keyspace={keyspace} />
          {canManage && <KeyspaceDangerSection workspace={workspace} keyspace={keyspace} />}
        </>
      )}
      <LazyDialog
        source={editDialog}
        props={{ workspace, keyspace, isOpen: isEditOpen, onClose: edit.close }}
      />
      <LazyDialog
        source={importDialog}
        props={{
          workspaceId: workspace.id,
          keyspaceId: keyspace.id,
          isOpen: isImportOpen,
          onClose: importing.close,
        }}
      />
      <LazyDialog
        source={issueDialog}
        props={{
          workspaceId: workspace.id,
          keyspace,
          isGuided: isGuided ?? false,
          isOpen: isIssueOpen,
          onClose: issuance.close,
        }}
      />
    </>
  );
}
