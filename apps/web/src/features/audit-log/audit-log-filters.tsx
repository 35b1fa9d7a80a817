import { Select, TextInput } from "@mantine/core";
import { type ReactElement, useEffect, useState } from "react";
import { actionTitles } from "../../server/action-titles.ts";
import { isAction } from "./audit-log-filter.ts";
import classes from "./audit-log-filters.module.css";
import { type AuditLogSearch, isDay, isTarget } from "./audit-log-search.ts";
import { PersonFilter } from "./person-filter.tsx";

interface AuditLogFiltersProps {
  readonly workspaceId: string;
  readonly search: AuditLogSearch;
  /** The name of the person in `search.actor`, if an event shows it. */
  readonly actorName: string | undefined;
  readonly onSearch: (search: AuditLogSearch) => void;
}

const anyAction = { value: "any", label: "Everything" };

/** The filters of the audit log, which the URL contains. */
export function AuditLogFilters(props: AuditLogFiltersProps): ReactElement {
  const { workspaceId, search, actorName, onSearch } = props;
  const set = <Name extends keyof AuditLogSearch>(name: Name, value: AuditLogSearch[Name]) => {
    const { [name]: _former, ...others } = search;
    onSearch(value === undefined ? others : { ...others, [name]: value });
  };
  return (
    <div className={classes.filters}>
      <Select
        label="Action"
        data={[anyAction, ...Object.entries(actionTitles).map(([value, label]) => ({ value, label }))]}
        value={search.action ?? anyAction.value}
        onChange={(value) => set("action", isAction(value) ? value : undefined)}
      />
      <PersonFilter
        label="Changed by"
        workspaceId={workspaceId}
        chosen={search.actor}
        chosenName={actorName}
        onChoose={(userId) => set("actor", userId)}
      />
      <TargetFilter value={search.target} onChoose={(target) => set("target", target)} />
      <DayFilter label="From" value={search.from} onChoose={(day) => set("from", day)} />
      <DayFilter label="To" value={search.to} onChoose={(day) => set("to", day)} />
    </div>
  );
}

interface TextFilterProps {
  /** The filter in the URL. */
  readonly value: string | undefined;
  readonly onChoose: (value: string | undefined) => void;
}

/** Filters by a complete ID. */
function TargetFilter({ value, onChoose }: TextFilterProps): ReactElement {
  const [text, setText] = useTypedText(value, { isComplete: isTarget, onChoose });
  return (
    <TextInput
      label="Target"
      placeholder="Any ID"
      maxLength={100}
      autoComplete="off"
      spellCheck={false}
      value={text}
      error={text !== "" && !isTarget(text) && "Enter the ID of a member, an API key or an invitation."}
      onChange={(event) => setText(event.currentTarget.value.trim())}
    />
  );
}

/** Filters by a complete day. A text, because the browser's field for dates takes four stops of the Tab key. */
function DayFilter({ label, value, onChoose }: TextFilterProps & { readonly label: string }): ReactElement {
  const [text, setText] = useTypedText(value, { isComplete: isDay, onChoose });
  return (
    <TextInput
      label={label}
      placeholder="YYYY-MM-DD"
      maxLength={10}
      autoComplete="off"
      value={text}
      error={text !== "" && !isDay(text) && "Enter a day, such as 2026-03-01."}
      onChange={(event) => setText(event.currentTarget.value.trim())}
    />
  );
}

/** A text that becomes the filter when it is complete, and no filter when it is empty. It follows the URL. */
function useTypedText(
  value: string | undefined,
  {
    isComplete,
    onChoose,
  }: { readonly isComplete: (text: string) => boolean } & Pick<TextFilterProps, "onChoose">,
): [string, (text: string) => void] {
  const [text, setText] = useState(value ?? "");
  useEffect(() => setText(value ?? ""), [value]);
  const change = (next: string): void => {
    setText(next);
    if (next === "" || isComplete(next)) onChoose(next || undefined);
  };
  return [text, change];
}
