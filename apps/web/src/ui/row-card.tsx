import { Skeleton } from "@mantine/core";
import { type MouseEvent, memo, type ReactElement } from "react";
import cardClasses from "./cards.module.css";
import classes from "./data-table.module.css";
import { RowCheckbox } from "./row-checkbox.tsx";
import { isSameRow, openUnlessOnControl, type RowProps } from "./table-row-props.ts";

/** A row as a card, in a narrow window. Memoized like a row. */
export const RowCard = memo(CardBody, isSameRow) as typeof CardBody;

function CardBody<Item extends object>(props: RowProps<Item>): ReactElement {
  const { row, columns, nameOf, onOpen, actions, note } = props;
  const item = row.original;
  const [first, ...others] = columns;
  return (
    <li
      className={`${cardClasses.card} ${classes.card}`}
      data-opens={onOpen !== undefined || undefined}
      {...(onOpen && { onClick: (event: MouseEvent) => openUnlessOnControl(event, () => onOpen(item)) })}
    >
      <div className={classes.cardHead}>
        {nameOf && <RowCheckbox {...props} name={nameOf(item)} />}
        <h2 className={classes.cardName}>{first?.cell(item)}</h2>
        {actions && <div className={classes.actions}>{actions(item)}</div>}
      </div>
      <dl className={classes.facts}>
        {others.map(({ id, label, isWide, cell }) => (
          <div
            key={id}
            className={classes.fact}
            data-wide={(typeof isWide === "function" ? isWide(item) : isWide) || undefined}
          >
            <dt>{label}</dt>
            <dd>{cell(item)}</dd>
          </div>
        ))}
      </dl>
      {note?.(item)}
    </li>
  );
}

export function CardPlaceholder({ width }: { readonly width: string }): ReactElement {
  return (
    <li className={cardClasses.card}>
      <Skeleton h={16} w={width} my={8} />
      <Skeleton h={12} mt={12} />
      <Skeleton h={12} mt={12} />
    </li>
  );
}
