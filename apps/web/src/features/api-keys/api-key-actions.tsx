import { ActionIcon, Tooltip } from "@mantine/core";
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
      <Tooltip label="Edit">
        <ActionIcon variant="subtle" color="gray" aria-label={`Edit ${name}`} onClick={onEdit}>
          <IconPencil size={16} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Delete">
        <ActionIcon
          className={classes.delete}
          variant="subtle"
          color="gray"
          aria-label={`Delete ${name}`}
          onClick={onDelete}
        >
          <IconTrash size={16} />
        </ActionIcon>
      </Tooltip>
    </>
  );
}
