import { Modal } from "@mantine/core";
import { type ReactElement, useState } from "react";
import type { ExportSource } from "../../server/download-export.ts";
import { ExportForm } from "../../server/export-form.tsx";
import type { SessionWorkspace } from "../../server/trpc.ts";
import { Choice, Choices } from "../../ui/choice.tsx";
import { isLogFiltered } from "../../ui/log-filter.ts";
import { toFilter } from "./audit-log-filter.ts";
import type { AuditLogSearch } from "./audit-log-search.ts";

interface ExportDialogProps {
  readonly workspace: SessionWorkspace;
  /** The filters of the page, which the export has too. */
  readonly search: AuditLogSearch;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Exports the events that match the filters. */
export function ExportDialog({ isOpen, onClose, ...props }: ExportDialogProps): ReactElement {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Export the audit log" size={480}>
      {isOpen && <Export {...props} onClose={onClose} />}
    </Modal>
  );
}

function Export({ workspace, search, onClose }: Omit<ExportDialogProps, "isOpen">): ReactElement {
  const [format, setFormat] = useState<ExportSource["format"]>("csv");
  return (
    <ExportForm
      explanation={
        isLogFiltered(search)
          ? "The file contains all events that match the filters of the page, newest first."
          : "The file contains all events of this workspace, newest first."
      }
      readSource={() => ({
        path: "/exports/audit-events",
        input: { workspaceId: workspace.id, format, ...toFilter(search) },
        format,
      })}
      fileName={`${workspace.slug}-audit-log.${format}`}
      nouns={["event", "events"]}
      onClose={onClose}
    >
      <Choices label="Format">
        <Choice
          kind="radio"
          name="format"
          label="CSV"
          help="For spreadsheets. Text that a spreadsheet would interpret as a formula begins with an apostrophe."
          isChosen={format === "csv"}
          hasAutofocus
          onChoose={() => setFormat("csv")}
        />
        <Choice
          kind="radio"
          name="format"
          label="NDJSON"
          help="For programs: each line is an event in JSON, as in the open API."
          isChosen={format === "ndjson"}
          onChoose={() => setFormat("ndjson")}
        />
      </Choices>
    </ExportForm>
  );
}
