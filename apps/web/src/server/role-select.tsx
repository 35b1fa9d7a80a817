import { Select, type SelectProps } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import classes from "./role-select.module.css";
import { roleTitles } from "./roles.ts";
import { type Role, trpc } from "./trpc.ts";

interface RoleSelectProps<Choice extends Role>
  extends Pick<SelectProps<Choice>, "defaultValue" | "error" | "onBlur" | "onFocus"> {
  /** The roles to select from. */
  readonly roles: readonly Choice[];
  /** Help text under the field; by default, what the selected role can do. */
  readonly help?: string;
  readonly onChange: (role: Choice) => void;
}

/** A field of a form that selects a role. Each option says what the role can do. */
export function RoleSelect<Choice extends Role>(props: RoleSelectProps<Choice>): ReactElement {
  const { roles, help, defaultValue = null, onChange, ...inputProps } = props;
  const { data: catalog } = useQuery(trpc.instance.roles.queryOptions(undefined, { staleTime: Infinity }));
  const [selected, setSelected] = useState(defaultValue);
  const describe = (role: Role | null) => catalog?.find(({ name }) => name === role)?.description;
  return (
    <Select
      {...inputProps}
      label="Role"
      // While the catalog loads, a space keeps the height of the line.
      description={help ?? describe(selected) ?? "\u00a0"}
      data={roles.map((role) => ({ value: role, label: roleTitles[role] }))}
      defaultValue={defaultValue}
      allowDeselect={false}
      maxDropdownHeight={320}
      renderOption={({ option: { value, label }, checked = false }) => (
        <>
          <span className={classes.option}>
            {label}
            <span className={classes.description}>{describe(value)}</span>
          </span>
          {checked && <IconCheck size={16} className={classes.check} aria-hidden="true" />}
        </>
      )}
      onChange={(role) => {
        if (role === null) return;
        setSelected(role);
        onChange(role);
      }}
    />
  );
}
