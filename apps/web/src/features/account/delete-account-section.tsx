import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactElement } from "react";
import type { Session } from "../../server/trpc.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";

const deleteAccountDialog = {
  load: () => import("./delete-account-dialog.tsx").then((module) => module.DeleteAccountDialog),
  closed: { isOpen: false },
};

/** Lets users delete their account. */
export function DeleteAccountSection({ user }: { readonly user: Session["user"] }): ReactElement {
  const [isOpen, dialog] = useDisclosure(false);
  return (
    <Section title="Danger zone">
      <div className={`${sectionClasses.box} ${sectionClasses.danger}`}>
        <p className={sectionClasses.words}>
          <strong>Delete your account</strong>
          Your API keys stop working, and you leave every workspace. This can’t be undone.
        </p>
        <Button className={dialogClasses.danger} flex="none" onClick={dialog.open}>
          Delete account
        </Button>
      </div>
      <LazyDialog source={deleteAccountDialog} props={{ user, isOpen, onClose: dialog.close }} />
    </Section>
  );
}
