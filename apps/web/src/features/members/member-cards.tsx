import { Button, Skeleton } from "@mantine/core";
import type { ReactElement } from "react";
import type { Member } from "../../server/trpc.ts";
import cardClasses from "../../ui/cards.module.css";
import { FormFailure } from "../../ui/form-failure.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Tag } from "../../ui/tag.tsx";
import classes from "./member-cards.module.css";
import type { MemberListProps } from "./member-list-props.ts";
import { RoleField } from "./role-field.tsx";
import { useMemberRow } from "./use-member-row.ts";
import { describeRefusedChange } from "./use-role-change.tsx";

export function MemberCards(props: MemberListProps): ReactElement {
  const { members, isOld } = props;
  return (
    <ul
      className={cardClasses.list}
      aria-label="Members"
      aria-busy={!members || isOld}
      data-old={isOld || undefined}
    >
      {members
        ? members.map((member) => <Card key={member.userId} member={member} list={props} />)
        : [1, 2, 3].map((place) => <CardSkeleton key={place} />)}
    </ul>
  );
}

function Card({ member, list }: { readonly member: Member; readonly list: MemberListProps }): ReactElement {
  const row = useMemberRow(member, list);
  const { name, email, isDisabled, joinedAt } = member;
  const failure = row.change.error ? describeRefusedChange(row.change.error) : undefined;
  return (
    <li className={cardClasses.card}>
      <div className={cardClasses.head}>
        <div className={classes.person}>
          <h2 className={cardClasses.name}>{name}</h2>
          {row.isOneself && <Tag>You</Tag>}
          {isDisabled && <Tag>Disabled</Tag>}
        </div>
        {row.isRemovable && (
          <Button
            variant="subtle"
            color="gray"
            flex="none"
            aria-label={row.isOneself ? "Leave the workspace" : `Remove ${name}`}
            onClick={() => list.onRemove(member)}
          >
            {row.isOneself ? "Leave" : "Remove"}
          </Button>
        )}
      </div>
      <p className={classes.address}>{email}</p>
      <div className={classes.facts}>
        <RoleField {...row} />
        <span className={classes.joined}>
          Joined <RelativeTime at={joinedAt} />
        </span>
      </div>
      {failure && (
        <div className={classes.failure}>
          <FormFailure message={failure.message} requestId={failure.requestId} />
        </div>
      )}
    </li>
  );
}

function CardSkeleton(): ReactElement {
  return (
    <li className={cardClasses.card}>
      <div className={cardClasses.head}>
        <Skeleton h={16} w="50%" />
      </div>
      <Skeleton h={12} mt={4} w="70%" />
      <div className={classes.facts}>
        <Skeleton h={12} />
      </div>
    </li>
  );
}
