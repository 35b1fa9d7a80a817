import { Textarea } from "@mantine/core";
import type { GetInputPropsReturnType } from "@mantine/form";
import type { ReactElement } from "react";
import classes from "./fields.module.css";

interface PermissionsFieldProps {
  readonly label: string;
  readonly help: string;
  readonly inputProps: GetInputPropsReturnType;
}

/** Permissions of issued keys, one per line. The workspace's own API defines their names. */
export function PermissionsField({ label, help, inputProps }: PermissionsFieldProps): ReactElement {
  return (
    <Textarea
      {...inputProps}
      label={label}
      description={help}
      placeholder={"documents.read\nreports.*"}
      classNames={{ input: classes.mono ?? "" }}
      autosize
      minRows={2}
      maxRows={8}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
    />
  );
}
