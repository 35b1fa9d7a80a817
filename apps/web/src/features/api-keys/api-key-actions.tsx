import { ActionIcon } from "@mantine/core";
import { IconPencil, IconTrash } from "@tabler/icons-react";
import type { ReactElement } from "react";
import classes from "./api-key-actions.module.css";

interface ApiKeyActionsProps {
  readonly name: string;
  readonly onEdit: () => void;
  readonly onDelete: () => void;
}

export function ApiKeyActions({ name, onEdit, onDelete }: ApiKeyActionsProps): ReactElement {
  return (
    <>
      <ActionIcon
        className={classes.action}
        data-hint="Edit"
        variant="subtle"
        color="gray"
        aria-label={`Edit ${name}`}
        onClick={onEdit}
      >
        <IconPencil size={16} />
      </ActionIcon>
      <ActionIcon
        className={`${classes.action} ${classes.delete}`}
        data-hint="Delete"
        variant="subtle"
        color="gray"
        aria-label={`Delete ${name}`}
        onClick={onDelete}
      >
        <IconTrash size={16} />
      </ActionIcon>
    </>
  );
}
