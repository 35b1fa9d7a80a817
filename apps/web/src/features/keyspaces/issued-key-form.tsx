import { useForm } from "@mantine/form";
import type { ReactElement } from "react";
import type { IssuedKeyFields } from "../../server/trpc.ts";
import { useLatestValues } from "../../ui/use-latest-values.ts";
import { IssuedKeyInputs } from "./issued-key-inputs.tsx";
import { fieldsOfKey, type IssuedKeyValues, issuedKeyRules, keySettings } from "./issued-key-values.ts";
import { SettingsForm, type SettingsFormProps } from "./settings-form.tsx";

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
  useLatestValues(form, initialValues, keySettings);
  return (
    <SettingsForm {...frame} form={form} onSubmit={(values) => onSubmit(fieldsOfKey(values))}>
      <IssuedKeyInputs form={form} expiresAt={expiresAt} defaultLifetimeDays={defaultLifetimeDays} />
    </SettingsForm>
  );
}
