import { TextInput, type TextInputProps } from "@mantine/core";
import type { ReactElement } from "react";

/** The email address of an account. */
export function EmailField(props: TextInputProps): ReactElement {
  return (
    <TextInput
      {...props}
      label="Email address"
      type="email"
      autoComplete="username"
      required
      withAsterisk={false}
    />
  );
}
