import { Select } from "@mantine/core";
import type { ReactElement } from "react";
import { DayFilter } from "./day-filter.tsx";
import classes from "./filters.module.css";
import { IdFilter } from "./id-filter.tsx";
import type { LogFilter, LogFilterChange } from "./log-filter.ts";
import { TimeZone } from "./time-zone.tsx";

interface LogFiltersProps {
  readonly search: LogFilter;
  readonly onChange: (change: LogFilterChange) => void;
  readonly action: {
    readonly label: string;
    /** The title of each action. */
    readonly titles: Readonly<Record<string, string>>;
  };
  /** The choice of the person who made the changes; absent if the log is about one user. */
  readonly actor?: ReactElement;
  /** Absent if the log is about one user. */
  readonly target?: {
    readonly label: string;
    readonly isId: (text: string) => boolean;
    /** Shown below a text that is not a complete ID. */
    readonly error: string;
  };
}

const anyAction = "any";

/** The filters of a log, which the URL contains. */
export function LogFilters({ search, onChange, action, actor, target }: LogFiltersProps): ReactElement {
  const actions = Object.entries(action.titles)
    .map(([value, label]) => ({ value, label }))
    .toSorted((one, other) => one.label.localeCompare(other.label));
  // An action that isn't in the list filters nothing.
  const isKnown = search.action !== undefined && Object.hasOwn(action.titles, search.action);
  return (
    <div className={classes.filters}>
      <Select
        label={action.label}
        searchable
        maxDropdownHeight={360}
        data={[{ value: anyAction, label: `Any ${action.label.toLowerCase()}` }, ...actions]}
        value={isKnown ? search.action : anyAction}
        nothingFoundMessage={`No ${action.label.toLowerCase()} matches`}
        onChange={(value) => onChange({ action: value === null || value === anyAction ? undefined : value })}
      />
      {actor}
      {target && <IdFilter {...target} value={search.target} onChoose={(id) => onChange({ target: id })} />}
      <div className={classes.days}>
        <DayFilter label="From" value={search.from} onChoose={(from) => onChange({ from })} />
        <DayFilter label="To" value={search.to} onChoose={(to) => onChange({ to })} />
      </div>
      <TimeZone />
    </div>
  );
}
