import { Button, Skeleton } from "@mantine/core";
import type { ReactElement } from "react";
import type { Member } from "../../server/trpc.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { SortHeader } from "../../ui/sort-header.tsx";
import tableClasses from "../../ui/table.module.css";
import { Tag } from "../../ui/tag.tsx";
import type { MemberListProps } from "./member-list-props.ts";
import classes from "./member-table.module.css";
import { RoleField } from "./role-field.tsx";
import { useMemberRow } from "./use-member-row.ts";
import { describeRefusedChange } from "./use-role-change.tsx";

const placeholders = ["62%", "40%", "51%", "34%"];

export function MemberTable(props: MemberListProps): ReactElement {
  const { members, isOld, sort, onSort } = props;
  return (
    <div className={tableClasses.frame}>
      <table
        className={`${tableClasses.table} ${classes.table}`}
        aria-label="Members"
        aria-busy={!members || isOld}
        data-old={isOld || undefined}
      >
        <thead>
          <tr>
            <SortHeader order="name" label="Name" sort={sort} onSort={onSort} />
            <SortHeader order="email" label="Email address" sort={sort} onSort={onSort} />
            <th scope="col" className={classes.role}>
              Role
            </th>
            <SortHeader
              order="joinedAt"
              label="Joined"
              sort={sort}
              onSort={onSort}
              className={classes.joined}
            />
            <th scope="col" className={classes.actions}>
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {members
            ? members.map((member) => <Row key={member.userId} member={member} list={props} />)
            : placeholders.map((width) => <RowSkeleton key={width} width={width} />)}
        </tbody>
      </table>
    </div>
  );
}

function Row({ member, list }: { readonly member: Member; readonly list: MemberListProps }): ReactElement {
  const row = useMemberRow(member, list);
  const { name, email, isDisabled, joinedAt } = member;
  const failure = row.change.error ? describeRefusedChange(row.change.error) : undefined;
  return (
    <>
      <tr>
        <th scope="row">
          <span className={classes.person}>
            <span className={classes.name} title={name}>
              {name}
            </span>
            {row.isOneself && <Tag>You</Tag>}
            {isDisabled && <Tag>Disabled</Tag>}
          </span>
        </th>
        <td className={`${classes.cut} ${classes.address}`} title={email}>
          {email}
        </td>
        <td>
          <RoleField {...row} />
        </td>
        <td>
          <RelativeTime at={joinedAt} />
        </td>
        <td className={classes.actions}>
          {row.isRemovable && (
            <Button
              variant="subtle"
              color="gray"
              aria-label={row.isOneself ? "Leave the workspace" : `Remove ${name}`}
              onClick={() => list.onRemove(member)}
            >
              {row.isOneself ? "Leave" : "Remove"}
            </Button>
          )}
        </td>
      </tr>
      {failure && (
        <tr>
          <td colSpan={5} className={classes.failure}>
            <FormFailure message={failure.message} requestId={failure.requestId} />
          </td>
        </tr>
      )}
    </>
  );
}

function RowSkeleton({ width }: { readonly width: string }): ReactElement {
  return (
    <tr>
      <th scope="row">
        <Skeleton h={12} w={width} />
      </th>
      <td>
        <Skeleton h={12} w={width} />
      </td>
      <td>
        <Skeleton h={12} w={64} />
      </td>
      <td>
        <Skeleton h={12} w={72} />
      </td>
      <td />
    </tr>
  );
}
