import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactElement } from "react";
import type { Workspace } from "../../server/trpc.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import classes from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { describeRetention } from "./workspace-values.ts";

const retentionDialog = {
  load: () => import("./retention-dialog.tsx").then((module) => module.RetentionDialog),
  closed: { isOpen: false },
};

/** How long the audit log is kept, for those who can change it. */
export function RetentionSection({ workspace }: { readonly workspace: Workspace }): ReactElement {
  const [isOpen, dialog] = useDisclosure(false);
  return (
    <Section title="Audit log">
      <div className={`${classes.box} ${classes.danger}`}>
        <p className={classes.words}>
          <strong>{describeRetention(workspace.auditRetentionDays)}</strong>
          {typeof workspace.auditRetentionDays !== "number"
            ? "No event is deleted while the workspace exists."
            : "Older events are deleted."}
        </p>
        <Button variant="default" flex="none" onClick={dialog.open}>
          Change retention
        </Button>
      </div>
      <LazyDialog source={retentionDialog} props={{ workspace, isOpen, onClose: dialog.close }} />
    </Section>
  );
}
