import { Button, type ButtonProps } from "@mantine/core";
import { type ComponentPropsWithoutRef, type ReactElement, useLayoutEffect, useRef } from "react";

interface BusyButtonProps extends ButtonProps, Omit<ComponentPropsWithoutRef<"button">, keyof ButtonProps> {
  readonly loading: boolean;
}

/**
 * A button that shows progress. Mantine disables a button while it loads, and browsers remove the focus from a disabled
 * button. Restores the focus when loading ends, unless another element has it.
 */
export function BusyButton(props: BusyButtonProps): ReactElement {
  const { loading } = props;
  const button = useRef<HTMLButtonElement>(null);
  const hadFocus = useRef(false);
  useLayoutEffect(() => {
    if (loading) {
      hadFocus.current = document.activeElement === button.current;
      return;
    }
    if (hadFocus.current && document.activeElement === document.body) button.current?.focus();
    hadFocus.current = false;
  }, [loading]);
  return <Button {...props} ref={button} />;
}
