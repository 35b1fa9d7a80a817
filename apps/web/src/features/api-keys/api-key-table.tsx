import { Skeleton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { memo, type ReactElement } from "react";
import { formatCount } from "../../ui/count.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import tableClasses from "../../ui/table.module.css";
import { ApiKeyActions } from "./api-key-actions.tsx";
import type { ApiKeyItemProps, ApiKeyListProps } from "./api-key-list-props.ts";
import classes from "./api-key-table.module.css";
import { KeyTags } from "./key-tags.tsx";
import { useOpenKey } from "./use-open-key.ts";

const placeholders = ["62%", "40%", "51%", "34%", "58%", "46%", "38%", "55%", "43%", "30%"];

export function ApiKeyTable({ apiKeys, isOld, onEdit, onDelete }: ApiKeyListProps): ReactElement {
  return (
    <div className={tableClasses.frame}>
      <table
        className={`${tableClasses.table} ${classes.table}`}
        aria-label="API keys"
        aria-busy={!apiKeys || isOld}
        data-old={isOld || undefined}
      >
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" className={classes.key}>
              Key
            </th>
            <th scope="col" className={classes.created}>
              Created
            </th>
            <th scope="col" className={classes.time}>
              Last used
            </th>
            <th scope="col" className={classes.uses}>
              Uses
            </th>
            <th scope="col" className={classes.actions}>
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {apiKeys
            ? apiKeys.map((apiKey) => (
                <Row key={apiKey.id} apiKey={apiKey} onEdit={onEdit} onDelete={onDelete} />
              ))
            : placeholders.map((width) => <RowSkeleton key={width} width={width} />)}
        </tbody>
      </table>
    </div>
  );
}

/** The page renders several times on the way to another list; most of its work is in here. */
const Row = memo(function Row({ apiKey, onEdit, onDelete }: ApiKeyItemProps): ReactElement {
  const { id, name, description, start, createdAt, lastUsedAt, usageCount } = apiKey;
  const openUnlessOnControl = useOpenKey(id);
  return (
    <tr className={classes.row} onClick={openUnlessOnControl}>
      <th scope="row">
        <div className={classes.nameCell}>
          <Link className={classes.name} title={name} to="/account/api-keys/$keyId" params={{ keyId: id }}>
            {name}
          </Link>
          <span className={classes.tags}>
            <KeyTags apiKey={apiKey} />
          </span>
          {description && (
            <span className={classes.description} title={description}>
              {description}
            </span>
          )}
        </div>
      </th>
      <td>
        <code className={classes.start}>{start}…</code>
      </td>
      <td className={classes.created}>
        <RelativeTime at={createdAt} />
      </td>
      <td>{lastUsedAt ? <RelativeTime at={lastUsedAt} /> : <span className={classes.never}>never</span>}</td>
      <td className={classes.uses}>{formatCount(usageCount)}</td>
      <td className={classes.actions}>
        <ApiKeyActions name={name} onEdit={() => onEdit(apiKey)} onDelete={() => onDelete(apiKey)} />
      </td>
    </tr>
  );
});

function RowSkeleton({ width }: { readonly width: string }): ReactElement {
  return (
    <tr>
      <th scope="row">
        <Skeleton h={12} w={width} />
      </th>
      <td>
        <Skeleton h={12} w={88} />
      </td>
      <td className={classes.created}>
        <Skeleton h={12} w={72} />
      </td>
      <td>
        <Skeleton h={12} w={72} />
      </td>
      <td className={classes.uses}>
        <Skeleton h={12} w={32} ml="auto" />
      </td>
      <td />
    </tr>
  );
}
