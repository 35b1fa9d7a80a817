import { Modal } from "@mantine/core";
import { type ReactElement, useState } from "react";
import { Choice, Choices } from "../ui/choice.tsx";
import { Quoted } from "../ui/quoted.tsx";
import { usageBuckets } from "../ui/usage-buckets.ts";
import type { UsageRange } from "../ui/usage-ranges.ts";
import { ExportForm } from "./export-form.tsx";
import type { SessionWorkspace } from "./trpc.ts";

interface ExportUsageDialogProps {
  readonly workspace: SessionWorkspace;
  /** Null for all keyspaces of the workspace. */
  readonly keyspace: { readonly id: string; readonly name: string } | null;
  /** The period of the page, which the export has too. */
  readonly range: UsageRange;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

const nouns = ["row", "rows"] as const;
const groupings = {
  outcome: { label: "By outcome", help: "Valid, rate limited and each reason for a rejection." },
  key: { label: "By key", help: "The 1,000 keys with the most verifications." },
  externalId: { label: "By consumer", help: "The 1,000 consumers with the most verifications." },
  tag: { label: "By tag", help: "The 100 tags with the most verifications in each keyspace." },
} as const;
type Grouping = keyof typeof groupings;

/** Exports the verifications of a keyspace, or of all keyspaces of a workspace, in the period of the page. */
export function ExportUsageDialog({ isOpen, onClose, ...props }: ExportUsageDialogProps): ReactElement {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Export verifications" size={480}>
      {isOpen && <Export {...props} onClose={onClose} />}
    </Modal>
  );
}

function Export(props: Omit<ExportUsageDialogProps, "isOpen">): ReactElement {
  const { workspace, keyspace, range, onClose } = props;
  const [groupBy, setGroupBy] = useState<Grouping>("outcome");
  const { label, bucket, count } = range;
  const period = `${count}${bucket === "hour" ? "h" : "d"}`;
  return (
    <ExportForm
      explanation={
        <>
          The file contains the verifications of the last {label} in{" "}
          {keyspace ? <Quoted>{keyspace.name}</Quoted> : "all existing keyspaces of this workspace"} per{" "}
          {bucket}, as CSV. Text that a spreadsheet would interpret as a formula begins with an apostrophe.
        </>
      }
      readSource={() => ({
        path: "/exports/verifications",
        input: {
          workspaceId: workspace.id,
          keyspaceId: keyspace?.id ?? null,
          groupBy,
          ...usageBuckets(range, new Date()),
        },
        format: "csv",
      })}
      fileName={`${workspace.slug}-verifications-${period}-by-${groupBy === "externalId" ? "consumer" : groupBy}.csv`}
      nouns={nouns}
      onClose={onClose}
    >
      <Choices label="Rows">
        {Object.entries(groupings).map(([grouping, { label, help }]) => (
          <Choice
            key={grouping}
            kind="radio"
            name="grouping"
            label={label}
            help={help}
            isChosen={grouping === groupBy}
            hasAutofocus={grouping === "outcome"}
            onChoose={() => setGroupBy(grouping as Grouping)} // A key of the table.
          />
        ))}
      </Choices>
    </ExportForm>
  );
}
