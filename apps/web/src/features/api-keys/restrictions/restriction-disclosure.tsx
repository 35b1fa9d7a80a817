import { UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronRight } from "@tabler/icons-react";
import { type ReactElement, useId } from "react";
import classes from "./restriction-disclosure.module.css";
import { RestrictionFields } from "./restriction-fields.tsx";
import type { RestrictionForm } from "./use-restriction-form.ts";

/** The restrictions of a new key other than its expiry, collapsed until they are needed. */
export function RestrictionDisclosure({
  form,
  hasOneWorkspace,
}: {
  readonly form: RestrictionForm;
  readonly hasOneWorkspace: boolean;
}): ReactElement {
  const [isOpen, { open, toggle }] = useDisclosure(false);
  const id = useId();
  const hasErrors = Object.keys(form.errors).some((name) => name !== "expiryDate");
  // Stays open when the errors are corrected, because the user is editing one of the fields.
  if (hasErrors && !isOpen) open();
  return (
    <div className={classes.box}>
      <UnstyledButton
        className={classes.toggle}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={toggle}
        disabled={hasErrors}
      >
        <IconChevronRight size={16} className={classes.icon} aria-hidden="true" />
        <span className={classes.label}>
          Restrict this key
          <span className={classes.words}>
            {hasOneWorkspace
              ? "Permissions, IP ranges, rate limit"
              : "Permissions, workspaces, IP ranges, rate limit"}
          </span>
        </span>
      </UnstyledButton>
      <div id={id} className={classes.fields} hidden={!isOpen}>
        {isOpen && (
          <RestrictionFields form={form} expiresAt={null} isExpiryHidden hasOneWorkspace={hasOneWorkspace} />
        )}
      </div>
    </div>
  );
}
