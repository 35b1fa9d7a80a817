import { Button, Menu } from "@mantine/core";
import { IconColumns3 } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { type ColumnLayout, chooseColumns } from "./table-layout.ts";

interface ColumnMenuProps {
  readonly columns: readonly (ColumnLayout & { readonly label: string })[];
  /** The chosen columns; undefined for the default columns. */
  readonly chosen: readonly string[] | undefined;
  /** Receives undefined for the default columns. */
  readonly onChoose: (chosen: readonly string[] | undefined) => void;
}

/** A menu to choose the columns of a table. The first column names the row and is always shown. */
export function ColumnMenu({ columns, chosen, onChoose }: ColumnMenuProps): ReactElement {
  const [, ...choosable] = columns;
  const shown = new Set(chooseColumns(columns, chosen).map(({ id }) => id));
  const toggle = (id: string) => {
    const next = choosable
      .filter((column) => shown.has(column.id) !== (column.id === id))
      .map((column) => column.id);
    const isDefault = choosable.every(
      ({ id: column, isHiddenByDefault = false }) => next.includes(column) !== isHiddenByDefault,
    );
    onChoose(isDefault ? undefined : next);
  };
  return (
    <Menu position="bottom-end" closeOnItemClick={false}>
      <Menu.Target>
        <Button variant="default" leftSection={<IconColumns3 size={16} />} flex="none">
          Columns
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {choosable.map(({ id, label }) => (
          <Menu.CheckboxItem key={id} checked={shown.has(id)} onChange={() => toggle(id)}>
            {label}
          </Menu.CheckboxItem>
        ))}
        <Menu.Label>Columns that don’t fit are hidden.</Menu.Label>
        {chosen && (
          <>
            <Menu.Divider />
            <Menu.Item closeMenuOnClick onClick={() => onChoose(undefined)}>
              Reset columns
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
