import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useServiceAccount } from "../../server/key-owner-link.tsx";
import type { ApiKey } from "../../server/trpc.ts";
import rowClasses from "../../ui/danger-rows.module.css";
import { DeleteRow } from "../../ui/delete-row.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { Section } from "../../ui/section.tsx";
import { StatusRow } from "../../ui/status-row.tsx";
import { DisableDialog } from "./disable-dialog.tsx";
import { EnableDialog } from "./enable-dialog.tsx";

const deleteApiKeyDialog = {
  load: () => import("./delete-api-key-dialog.tsx").then((module) => module.DeleteApiKeyDialog),
  closed: { apiKey: undefined },
};

/** The actions that disable, enable and delete a key. */
export function DangerSection({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  const navigate = useNavigate();
  const account = useServiceAccount(apiKey);
  const [isDisableOpen, disabling] = useDisclosure(false);
  const [isDeleteOpen, deletion] = useDisclosure(false);
  const [isEnableOpen, enabling] = useDisclosure(false);
  return (
    <Section title="Danger zone">
      <div className={rowClasses.list}>
        <StatusRow
          noun="key"
          isDisabled={apiKey.isDisabled}
          onChange={apiKey.isDisabled ? enabling.open : disabling.open}
        >
          {apiKey.isDisabled
            ? "The key is disabled, and its requests are rejected. Once enabled, it works again with its current secret."
            : "Its requests are rejected until you enable it again. Its settings don’t change."}
        </StatusRow>
        <DeleteRow noun="key" onDelete={deletion.open}>
          Requests with it are rejected immediately. This can’t be undone.
        </DeleteRow>
      </div>
      <DisableDialog apiKey={apiKey} isOpen={isDisableOpen} onClose={disabling.close} />
      <LazyDialog
        source={deleteApiKeyDialog}
        props={{
          apiKey: isDeleteOpen ? apiKey : undefined,
          onClose: deletion.close,
          // Input about the deleted key can no longer be saved.
          onDeleted: () =>
            void navigate({ ...(account?.page ?? { to: "/account/api-keys" }), ignoreBlocker: true }),
        }}
      />
      <EnableDialog apiKey={apiKey} isOpen={isEnableOpen} onClose={enabling.close} />
    </Section>
  );
}
