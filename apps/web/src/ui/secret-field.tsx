import { ActionIcon, PasswordInput, type PasswordInputProps } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconEye, IconEyeOff } from "@tabler/icons-react";
import type { ReactElement } from "react";

/**
 * A field for a password or a key. A button, which works with the keyboard too, shows the
 * characters.
 */
export function SecretField(props: PasswordInputProps): ReactElement {
  const [isVisible, { toggle }] = useDisclosure(false);
  return (
    <PasswordInput
      {...props}
      withAsterisk={false}
      // Mantine sets `aria-invalid` on its other inputs, but not on PasswordInput.
      aria-invalid={props.error ? true : undefined}
      visible={isVisible}
      rightSection={
        <ActionIcon
          variant="subtle"
          color="gray"
          size={28}
          aria-label="Show characters"
          aria-pressed={isVisible}
          onClick={toggle}
        >
          {isVisible ? <IconEyeOff size={16} /> : <IconEye size={16} />}
        </ActionIcon>
      }
    />
  );
}
