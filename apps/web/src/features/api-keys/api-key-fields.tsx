import { Textarea, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { getHotkeyHandler } from "@mantine/hooks";
import type { KeyboardEvent, ReactElement } from "react";

const nameLengthMax = 100;
const descriptionLengthMax = 500;

export interface ApiKeyValues {
  readonly name: string;
  readonly description: string;
}

/** What to do about each field, or null where it is good. */
export const apiKeyRules = {
  name: (name: string): string | null => {
    if (name.trim() === "") return "Enter a name, such as what will use the key.";
    return name.trim().length > nameLengthMax ? `Use at most ${nameLengthMax} characters.` : null;
  },
  description: (description: string): string | null =>
    description.trim().length > descriptionLengthMax
      ? `Use at most ${descriptionLengthMax} characters.`
      : null,
};

/** The values as the API takes them. */
export function trimmed({ name, description }: ApiKeyValues): { name: string; description: string } {
  return { name: name.trim(), description: description.trim() };
}

interface ApiKeyFieldsProps {
  readonly form: UseFormReturnType<ApiKeyValues>;
}

/** Name and description of a key, as in the dialogs for a new and for an existing one. */
export function ApiKeyFields({ form }: ApiKeyFieldsProps): ReactElement {
  const submit = (event: KeyboardEvent | globalThis.KeyboardEvent) => {
    if (event.target instanceof HTMLTextAreaElement) event.target.form?.requestSubmit();
  };
  return (
    <>
      <TextInput
        {...form.getInputProps("name")}
        key={form.key("name")}
        label="Name"
        placeholder="Nightly backup"
        autoComplete="off"
        data-autofocus
        required
        withAsterisk={false}
      />
      <Textarea
        {...form.getInputProps("description")}
        key={form.key("description")}
        label="Description"
        description="What uses the key, and where. Optional."
        autosize
        minRows={2}
        maxRows={6}
        onKeyDown={getHotkeyHandler([["mod+Enter", submit]])}
      />
    </>
  );
}
