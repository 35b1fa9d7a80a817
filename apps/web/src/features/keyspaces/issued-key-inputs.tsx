import { Select, Textarea, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { Fragment, type ReactElement } from "react";
import type { IssuedKeyFields } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import { describeExactly } from "../../ui/elapsed.ts";
import { lifetimes } from "../../ui/lifetimes.ts";
import { describeTimeZone } from "../../ui/time-zone.tsx";
import { CreditsFields } from "./credits-fields.tsx";
import classes from "./fields.module.css";
import type { IssuedKeyValues } from "./issued-key-values.ts";
import { LimitFields } from "./limit-fields.tsx";
import { PermissionsField } from "./permissions-field.tsx";

const expiries = [
  { value: "never", label: "Never expires" },
  // JavaScript iterates integer keys in ascending order.
  ...Object.entries(lifetimes).map(([value, label]) => ({ value, label })),
  { value: "date", label: "On a date" },
];

interface IssuedKeyInputsProps {
  readonly form: UseFormReturnType<IssuedKeyValues>;
  /** The current expiry of a key that is edited. */
  readonly expiresAt: string | null | undefined;
  /** The lifetime that the keyspace sets for a new key; null for none. */
  readonly defaultLifetimeDays: number | null | undefined;
}

/** The inputs for each field of an issued key, in this order. */
export function IssuedKeyInputs({
  form,
  expiresAt,
  defaultLifetimeDays,
}: IssuedKeyInputsProps): ReactElement {
  const isEdit = expiresAt !== undefined;
  const firstExpiries = [
    ...(expiresAt ? [{ value: "keep", label: `Current: ${describeExactly(new Date(expiresAt))}` }] : []),
    ...(defaultLifetimeDays ? [{ value: "default", label: describeDefault(defaultLifetimeDays) }] : []),
  ];
  const inputs: Readonly<Record<keyof IssuedKeyFields, ReactElement>> = {
    name: (
      <TextInput
        {...form.getInputProps("name")}
        className={classes.wide}
        label="Name"
        description="To recognize the key. Optional."
        placeholder="Acme production"
        autoComplete="off"
        dir="auto"
        data-autofocus
      />
    ),
    externalId: (
      <TextInput
        {...form.getInputProps("externalId")}
        className={classes.wide}
        label="External ID"
        description="The consumer, as your system identifies it. Optional."
        placeholder="customer_42"
        autoComplete="off"
        spellCheck={false}
      />
    ),
    permissions: (
      <PermissionsField
        label="Permissions"
        help="What the key allows in your API, one per line. “reports.*” includes all that start with “reports.”, and “*” includes all."
        inputProps={form.getInputProps("permissions")}
      />
    ),
    expiresAt: (
      <div className={classes.row}>
        <Select
          {...form.getInputProps("expiry")}
          className={classes.wide}
          label="Expires"
          data={[...firstExpiries, ...expiries]}
          allowDeselect={false}
        />
        {form.values.expiry === "date" && (
          <TextInput
            {...form.getInputProps("expiryDate")}
            className={classes.wide}
            type="datetime-local"
            label="Date and time"
            description={describeTimeZone()}
          />
        )}
      </div>
    ),
    ipRanges: (
      <Textarea
        {...form.getInputProps("ipRanges")}
        label="IP ranges"
        description="IP addresses or ranges from which the consumer can use the key, one per line. Leave empty to allow any IP address."
        placeholder={"203.0.113.0/24\n2001:db8::/32"}
        classNames={{ input: classes.mono ?? "" }}
        autosize
        minRows={1}
        maxRows={8}
        autoComplete="off"
        spellCheck={false}
      />
    ),
    limits: (
      <LimitFields
        form={form}
        help="How much the key can be used per window. A verification that exceeds a limit spends nothing."
      />
    ),
    credits: (
      <CreditsFields
        form={form}
        help={
          isEdit
            ? "Each verification subtracts its cost, which is 1 by default. The balance changes only if you enter another one."
            : "The credits that the key starts with. Each verification subtracts its cost, which is 1 by default."
        }
      />
    ),
    meta: (
      <div className={classes.group}>
        <Textarea
          {...form.getInputProps("meta")}
          label="Metadata"
          description="A JSON object that each verification returns, such as the plan of the customer. Optional."
          placeholder={'{ "plan": "pro" }'}
          classNames={{ input: classes.mono ?? "" }}
          autosize
          minRows={2}
          maxRows={12}
          autoComplete="off"
          spellCheck={false}
        />
      </div>
    ),
  };
  const { name, externalId, ...others } = inputs;
  return (
    <>
      <div className={classes.row}>
        {name}
        {externalId}
      </div>
      {Object.entries(others).map(([field, input]) => (
        <Fragment key={field}>{input}</Fragment>
      ))}
    </>
  );
}

function describeDefault(lifetimeDays: number): string {
  return `In ${countOf(lifetimeDays, "day", "days")} (default)`;
}
