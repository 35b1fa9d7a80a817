import { IconAlertCircle } from "@tabler/icons-react";
import { type ReactElement, useEffect, useRef } from "react";
import classes from "./form-failure.module.css";

export interface FormFailureProps {
  readonly message: string;
  readonly requestId?: string | undefined;
}

/**
 * The failure of a form as a whole. Errors of one field are shown under that field. It takes the
 * focus, because the button lost the focus when it was disabled.
 */
export function FormFailure({ message, requestId }: FormFailureProps): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), []);
  return (
    <div className={classes.failure} role="alert" ref={box} tabIndex={-1}>
      <IconAlertCircle size={18} className={classes.icon} aria-hidden="true" />
      <div>
        {message}
        {requestId && (
          <div className={classes.request}>
            Request ID <code>{requestId}</code>
          </div>
        )}
      </div>
    </div>
  );
}
