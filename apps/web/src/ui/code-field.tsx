import { TextInput, type TextInputProps } from "@mantine/core";
import type { ReactElement } from "react";

/** A field for a code of a second factor. Not for digits only, because recovery codes have letters. */
export function CodeField(props: TextInputProps): ReactElement {
  return (
    <TextInput
      label="Code"
      description="From your authenticator app, or one of your recovery codes."
      autoComplete="one-time-code"
      autoCapitalize="characters"
      spellCheck={false}
      required
      withAsterisk={false}
      {...props}
    />
  );
}
