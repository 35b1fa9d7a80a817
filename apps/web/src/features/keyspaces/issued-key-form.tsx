import { Select, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import type { ReactElement } from "react";
import type { IssuedKeyFields } from "../../server/trpc.ts";
import { describeExactly } from "../../ui/elapsed.ts";
import { lifetimes } from "../../ui/lifetimes.ts";
import { describeTimeZone } from "../../ui/time-zone.tsx";
import { CreditsFields } from "./credits-fields.tsx";
import classes from "./fields.module.css";
import { fieldsOfKey, type IssuedKeyValues, issuedKeyRules } from "./issued-key-values.ts";
import { LimitFields } from "./limit-fields.tsx";
import { PermissionsField } from "./permissions-field.tsx";
import { SettingsForm, type SettingsFormProps } from "./settings-form.tsx";

const expiries = [
  { value: "never", label: "Never expires" },
  // JavaScript iterates integer keys in ascending order.
  ...Object.entries(lifetimes).map(([value, label]) => ({ value, label })),
  { value: "date", label: "On a date" },
];

interface IssuedKeyFormProps extends SettingsFormProps<IssuedKeyFields> {
  readonly initialValues: IssuedKeyValues;
  /** The current expiry of a key that is edited. */
  readonly expiresAt?: string | null;
  /** The lifetime that the keyspace sets for a new key; null for none. */
  readonly defaultLifetimeDays?: number | null;
}

/** The form of a new issued key, or of an edit. */
export function IssuedKeyForm(props: IssuedKeyFormProps): ReactElement {
  const { initialValues, expiresAt, defaultLifetimeDays, onSubmit, ...frame } = props;
  const form = useForm<IssuedKeyValues>({
    name: "issued-key",
    mode: "controlled",
    initialValues,
    validate: issuedKeyRules,
  });
  const isEdit = expiresAt !== undefined;
  const firstExpiries = [
    ...(expiresAt ? [{ value: "keep", label: `Current: ${describeExactly(new Date(expiresAt))}` }] : []),
    ...(defaultLifetimeDays ? [{ value: "default", label: `In ${defaultLifetimeDays} days (default)` }] : []),
  ];
  return (
    <SettingsForm {...frame} form={form} onSubmit={(values) => onSubmit(fieldsOfKey(values, new Date()))}>
      <div className={classes.row}>
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
        <TextInput
          {...form.getInputProps("externalId")}
          className={classes.wide}
          label="External ID"
          description="The consumer, as your system identifies it. Optional."
          placeholder="customer_42"
          autoComplete="off"
          spellCheck={false}
        />
      </div>
      <PermissionsField
        label="Permissions"
        help="What the key allows in your API, one per line. “reports.*” includes all that start with “reports.”, and “*” includes all."
        inputProps={form.getInputProps("permissions")}
      />
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
      <LimitFields
        form={form}
        help="How much the key can be used per window. A verification that exceeds a limit spends nothing."
      />
      <CreditsFields
        form={form}
        help={
          isEdit
            ? "How often the key can still be used. The balance changes only if you enter another one."
            : "How often the key can be used in total. A verification costs 1 credit unless it names another cost."
        }
      />
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
    </SettingsForm>
  );
}
