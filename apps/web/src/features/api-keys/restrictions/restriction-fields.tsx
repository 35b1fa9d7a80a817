import { Select, Textarea, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useId, useRef } from "react";
import { trpc } from "../../../server/trpc.ts";
import { Choice, Choices } from "../../../ui/choice.tsx";
import { describeExactly } from "../../../ui/elapsed.ts";
import { describeInvalidRanges } from "../../../ui/ip-range-lines.ts";
import { lifetimes } from "../../../ui/lifetimes.ts";
import { describeTimeZone } from "../../../ui/time-zone.tsx";
import { describeAllPermissions } from "./describe-restrictions.ts";
import { LimitFields } from "./limit-fields.tsx";
import classes from "./restriction-fields.module.css";
import type { RestrictionValues } from "./restriction-values.ts";
import type { RestrictionForm } from "./use-restriction-form.ts";

const app = getRouteApi("/app");

interface RestrictionFieldsProps {
  readonly form: RestrictionForm;
  /** Whether to hide the expiry, because the form shows it separately. */
  readonly isExpiryHidden?: boolean;
  /** Whether to hide the workspaces, because a service account has only one. */
  readonly hasOneWorkspace?: boolean;
  /** The current expiry of the key. Null if it never expires or doesn't exist yet. */
  readonly expiresAt: string | null;
}

const pauseMilliseconds = 500;

/** The fields for all restrictions of a key. Each is optional. */
export function RestrictionFields({
  form,
  expiresAt,
  isExpiryHidden = false,
  hasOneWorkspace = false,
}: RestrictionFieldsProps): ReactElement {
  // The last line may be incomplete, so it is checked after a pause.
  const checkLastLine = useDebouncedCallback(
    (value: string) => form.setFieldError("ipRanges", describeInvalidRanges(value)),
    pauseMilliseconds,
  );
  return (
    <div className={classes.frame}>
      <div className={classes.fields}>
        <div className={classes.column}>
          {!isExpiryHidden && <ExpiryField form={form} expiresAt={expiresAt} />}
          <PermissionFields form={form} hasOneWorkspace={hasOneWorkspace} />
        </div>
        <div className={classes.column}>
          {!hasOneWorkspace && <WorkspaceFields form={form} />}
          <Textarea
            {...form.getInputProps("ipRanges")}
            onChange={({ currentTarget: { value } }) => {
              form.setFieldValue("ipRanges", value);
              form.setFieldError("ipRanges", describeInvalidRanges(value, { isTyping: true }));
              checkLastLine(value);
            }}
            onBlur={() => form.validateField("ipRanges")}
            label="IP ranges"
            description="IP addresses or ranges from which the key can be used, one per line. Leave empty to allow any IP address."
            placeholder={"203.0.113.0/24\n2001:db8::/32"}
            classNames={{ input: classes.mono ?? "" }}
            autosize
            minRows={2}
            maxRows={8}
            spellCheck={false}
            autoComplete="off"
          />
          <LimitFields form={form} />
        </div>
      </div>
    </div>
  );
}

const expiries: readonly { readonly value: RestrictionValues["expiry"]; readonly label: string }[] = [
  { value: "never", label: "Never" },
  // JavaScript iterates integer keys in ascending order.
  ...Object.entries(lifetimes).map(([value, label]) => ({ value: value as keyof typeof lifetimes, label })), // Its keys.
  { value: "date", label: "On a date" },
];

/** When a key expires: never, after a duration, or on a date. */
export function ExpiryField({
  form,
  expiresAt,
}: Pick<RestrictionFieldsProps, "form" | "expiresAt">): ReactElement {
  const { expiry } = form.values;
  const currentExpiry = expiresAt
    ? [{ value: "keep", label: `Current: ${describeExactly(new Date(expiresAt))}` }]
    : [];
  return (
    <div className={classes.row}>
      <Select
        className={classes.wide}
        label="Expires"
        data={[...currentExpiry, ...expiries]}
        value={expiry}
        error={expiry === "date" ? undefined : form.errors.expiryDate}
        onChange={(value) => form.setFieldValue("expiry", value as RestrictionValues["expiry"])} // One of the options.
      />
      {expiry === "date" && (
        <TextInput
          {...form.getInputProps("expiryDate")}
          className={classes.wide}
          type="datetime-local"
          label="Date and time"
          description={describeTimeZone()}
        />
      )}
    </div>
  );
}

function PermissionFields({
  form,
  hasOneWorkspace = false,
}: Pick<RestrictionFieldsProps, "form" | "hasOneWorkspace">): ReactElement {
  const { data: table } = useSuspenseQuery(trpc.instance.permissions.queryOptions());
  const name = useId();
  const { permissions, isReadOnly } = form.values;
  const choose = (chosen: RestrictionValues["permissions"]) => form.setFieldValue("permissions", chosen);
  const formerlySelected = useRef(permissions);
  return (
    <Choices label="Permissions" error={form.errors.permissions}>
      <Choice
        kind="checkbox"
        label="Read only"
        help="The key can read data but not change it."
        isChosen={isReadOnly}
        onChoose={(isChosen) => form.setFieldValue("isReadOnly", isChosen)}
      />
      <Choice
        kind="radio"
        name={name}
        label={describeAllPermissions(hasOneWorkspace)}
        isChosen={permissions === null}
        onChoose={() => {
          formerlySelected.current = permissions;
          choose(null);
        }}
      />
      <Choice
        kind="radio"
        name={name}
        label="Selected permissions"
        path={pathOf(form, "permissions")}
        isChosen={permissions !== null}
        onChoose={() => choose(permissions ?? formerlySelected.current ?? [])}
      />
      {permissions && (
        <div className={classes.nested}>
          {table.map(({ name: permission, description }) => (
            <Choice
              key={permission}
              kind="checkbox"
              label={<code className={classes.mono}>{permission}</code>}
              help={description}
              isChosen={permissions.includes(permission)}
              onChoose={(isChosen) => choose(toggleItem(permissions, permission, isChosen))}
            />
          ))}
        </div>
      )}
    </Choices>
  );
}

function WorkspaceFields({ form }: Pick<RestrictionFieldsProps, "form">): ReactElement {
  const { workspaces } = app.useRouteContext().session;
  const name = useId();
  const { workspaceIds } = form.values;
  const choose = (chosen: RestrictionValues["workspaceIds"]) => form.setFieldValue("workspaceIds", chosen);
  const formerlySelected = useRef(workspaceIds);
  const formerIds = workspaceIds?.filter((id) => !workspaces.some((own) => own.id === id)) ?? [];
  const options = [...workspaces, ...formerIds.map((id) => ({ id, name: `${id} (no longer a member)` }))];
  return (
    <Choices label="Workspaces" error={form.errors.workspaceIds}>
      <Choice
        kind="radio"
        name={name}
        label="All workspaces, including future ones"
        isChosen={workspaceIds === null}
        onChoose={() => {
          formerlySelected.current = workspaceIds;
          choose(null);
        }}
      />
      <Choice
        kind="radio"
        name={name}
        label="Selected workspaces"
        path={pathOf(form, "workspaceIds")}
        isChosen={workspaceIds !== null}
        onChoose={() => choose(workspaceIds ?? formerlySelected.current ?? [])}
      />
      {workspaceIds && (
        <div className={classes.nested}>
          {options.map(({ id, name: workspace }) => (
            <Choice
              key={id}
              kind="checkbox"
              label={<bdi>{workspace}</bdi>}
              isChosen={workspaceIds.includes(id)}
              onChoose={(isChosen) => choose(toggleItem(workspaceIds, id, isChosen))}
            />
          ))}
        </div>
      )}
    </Choices>
  );
}

/** The attribute by which the form finds the input of a field. */
function pathOf(form: RestrictionForm, name: keyof RestrictionValues): string | undefined {
  return (form.getInputProps(name) as { readonly "data-path"?: string })["data-path"]; // Its type omits attributes.
}

function toggleItem<Item>(items: readonly Item[], item: Item, isChosen: boolean): readonly Item[] {
  return isChosen ? [...items, item] : items.filter((other) => other !== item);
}
