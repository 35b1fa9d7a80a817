import { Modal, Skeleton } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { useSuspenseQuery } from "@tanstack/react-query";
import { type ReactElement, Suspense } from "react";
import { roles, roleTitles } from "../../server/roles.ts";
import { trpc } from "../../server/trpc.ts";
import classes from "./roles-dialog.module.css";

interface RolesDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function RolesDialog({ isOpen, onClose }: RolesDialogProps): ReactElement {
  return (
    <Modal opened={isOpen} onClose={onClose} title="What each role can do" size={640}>
      {/* While the roles load, the page behind the dialog stays. */}
      <Suspense fallback={<Skeleton h={560} role="status" aria-label="Loading the roles" />}>
        <RoleList />
        <RoleTable />
      </Suspense>
      <p className={classes.note}>
        Every person can leave the workspace and manage their own API keys. A key can do what its owner’s role
        allows.
      </p>
    </Modal>
  );
}

function RoleList(): ReactElement {
  const { data: catalog } = useSuspenseQuery(trpc.instance.roles.queryOptions());
  return (
    <dl className={classes.roles}>
      {catalog.map(({ name, description }) => (
        <div key={name}>
          <dt>{roleTitles[name]}</dt>
          <dd>{description}</dd>
        </div>
      ))}
    </dl>
  );
}

function RoleTable(): ReactElement {
  const { data: table } = useSuspenseQuery(trpc.instance.permissions.queryOptions());
  return (
    <table className={classes.table} aria-label="What each role can do">
      <thead>
        <tr>
          <th scope="col">Permissions</th>
          {roles.map((role) => (
            <th key={role} scope="col">
              {roleTitles[role]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {table.map(({ name, description, roles: holders }) => (
          <tr key={name}>
            <th scope="row">{description.replace(/\.$/, "")}</th>
            {roles.map((role) => (
              <td key={role}>
                {holders.includes(role) ? (
                  <IconCheck size={16} className={classes.icon} role="img" aria-label="Yes" />
                ) : (
                  <span className={classes.none}>
                    <span aria-hidden="true">–</span>
                    <span className="visually-hidden">No</span>
                  </span>
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
