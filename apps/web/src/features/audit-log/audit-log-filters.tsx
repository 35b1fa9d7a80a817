import { Select } from "@mantine/core";
import type { ReactElement } from "react";
import { actionTitles } from "../../server/action-titles.ts";
import { DayFilter } from "../../ui/day-filter.tsx";
import classes from "../../ui/filters.module.css";
import { IdFilter } from "../../ui/id-filter.tsx";
import { TimeZone } from "../../ui/time-zone.tsx";
import { isAction } from "./audit-log-filter.ts";
import { type AuditLogFilter, isTarget } from "./audit-log-search.ts";
import { PersonFilter } from "./person-filter.tsx";

interface AuditLogFiltersProps {
  readonly workspaceId: string;
  readonly search: AuditLogFilter;
  /** The name of the person in `search.actor`, if an event shows it. */
  readonly actorName: string | undefined;
  /** Gets the filters to change, undefined for those to remove. */
  readonly onChange: (change: { readonly [Name in keyof AuditLogFilter]?: string | undefined }) => void;
}

const anyAction = { value: "any", label: "Everything" };

/** The filters of the audit log, which the URL contains. */
export function AuditLogFilters(props: AuditLogFiltersProps): ReactElement {
  const { workspaceId, search, actorName, onChange } = props;
  return (
    <div className={classes.filters}>
      <Select
        label="Action"
        data={[anyAction, ...Object.entries(actionTitles).map(([value, label]) => ({ value, label }))]}
        value={search.action ?? anyAction.value}
        onChange={(value) => onChange({ action: isAction(value) ? value : undefined })}
      />
      <PersonFilter
        label="Actor"
        workspaceId={workspaceId}
        chosen={search.actor}
        chosenName={actorName}
        onChoose={(actor) => onChange({ actor })}
      />
      <IdFilter
        label="Target"
        isId={isTarget}
        error="Enter the ID of a member, API key, invitation, webhook or workspace."
        value={search.target}
        onChoose={(target) => onChange({ target })}
      />
      <DayFilter label="From" value={search.from} onChoose={(from) => onChange({ from })} />
      <DayFilter label="To" value={search.to} onChoose={(to) => onChange({ to })} />
      <TimeZone />
    </div>
  );
}
