import { Button, Group, Skeleton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil, IconRefresh } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useRef, useState } from "react";
import { isNotFound } from "../../server/failure.ts";
import { KeyOwnerLink } from "../../server/key-owner-link.tsx";
import type { ApiKey } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { AddressesSection } from "./addresses-section.tsx";
import { DangerSection } from "./danger-section.tsx";
import { DetailsSection } from "./details-section.tsx";
import { KeyBanner } from "./key-banner.tsx";
import { KeyStatusBadges } from "./key-status-badges.tsx";
import { OldSecretNotice } from "./old-secret-notice.tsx";
import { RejectedRequestsSection } from "./rejected-requests-section.tsx";
import { RejectingWorkspaces } from "./rejecting-workspaces.tsx";
import { RestrictionsSection } from "./restrictions-section.tsx";
import { SecretsSection } from "./secrets-section.tsx";
import { TryItSection } from "./try-it/try-it-section.tsx";
import { UsageSection } from "./usage-section.tsx";
import { useKey } from "./use-key-page.ts";

const route = getRouteApi("/app/account/api-keys/$keyId");
const editApiKeyDialog = {
  load: () => import("./edit-api-key-dialog.tsx").then((module) => module.EditApiKeyDialog),
  closed: { apiKey: undefined },
};
const rotateDialog = {
  load: () => import("./rotate-dialog.tsx").then((module) => module.RotateDialog),
  closed: { isOpen: false },
};

export function KeyPage(): ReactElement {
  const { keyId } = route.useParams();
  // Remounts for another key, so that no state is kept.
  return <Page key={keyId} keyId={keyId} />;
}

function Page({ keyId }: { readonly keyId: string }): ReactElement {
  const query = useKey(keyId);
  const failure = useLoadingFailure(query);
  if (isNotFound(query.error)) return <KeyNotFound />;
  if (failure) {
    return (
      <>
        <PageHeader title="API key" explanation="This key’s restrictions, usage and secrets." />
        <FailurePanel
          title="Couldn’t load the key"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={query.isFetching}
          onRetry={() => void query.refetch()}
        />
      </>
    );
  }
  return query.data ? <Loaded apiKey={query.data} /> : <Loading />;
}

function Loaded({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  const [edited, setEdited] = useState<ApiKey>();
  const [isRotateOpen, rotation] = useDisclosure(false);
  const title = useRef<HTMLHeadingElement>(null);
  return (
    <>
      <PageHeader
        title={apiKey.name}
        titleRef={title}
        parent={<KeyOwnerLink apiKey={apiKey} />}
        tags={<KeyStatusBadges apiKey={apiKey} />}
        explanation={<bdi>{apiKey.description || "This key’s restrictions, usage and secrets."}</bdi>}
        action={
          <Group gap={8} wrap="nowrap">
            <Button
              variant="default"
              leftSection={<IconPencil size={16} />}
              onClick={() => setEdited(apiKey)}
            >
              Edit
            </Button>
            <Button leftSection={<IconRefresh size={16} />} onClick={rotation.open}>
              Rotate
            </Button>
          </Group>
        }
      />
      <KeyBanner
        apiKey={apiKey}
        onEnabled={() => setTimeout(() => title.current?.focus())} // After the banner is removed.
      />
      <RejectingWorkspaces apiKey={apiKey} />
      {apiKey.rotatedOutUse && <OldSecretNotice use={apiKey.rotatedOutUse} />}
      <RestrictionsSection apiKey={apiKey} />
      <SecretsSection apiKey={apiKey} />
      <UsageSection apiKey={apiKey} />
      <RejectedRequestsSection keyId={apiKey.id} />
      <TryItSection keyId={apiKey.id} />
      <AddressesSection keyId={apiKey.id} />
      <DetailsSection apiKey={apiKey} />
      <DangerSection apiKey={apiKey} />
      <LazyDialog source={editApiKeyDialog} props={{ apiKey: edited, onClose: () => setEdited(undefined) }} />
      <LazyDialog source={rotateDialog} props={{ apiKey, isOpen: isRotateOpen, onClose: rotation.close }} />
    </>
  );
}

function Loading(): ReactElement {
  return (
    <div aria-busy="true" role="status" aria-label="Loading the key">
      <Skeleton h={20} w={220} my={4} />
      <Skeleton h={12} w={320} mt={10} mb={32} maw="100%" />
      <Skeleton h={190} mt={32} mb={32} />
      <Skeleton h={260} mb={32} />
      <Skeleton h={200} />
    </div>
  );
}

function KeyNotFound(): ReactElement {
  return (
    <>
      <PageHeader title="API key" explanation="A key’s restrictions, usage and secrets." />
      <EmptyPanel
        title="Key not found"
        action={
          <Button variant="default" renderRoot={(props) => <Link {...props} to="/account/api-keys" />}>
            Go to your API keys
          </Button>
        }
      >
        The key was deleted, or the URL is incomplete. Only its owner can see a key’s page. Admins can also
        see the keys of service accounts.
      </EmptyPanel>
    </>
  );
}
