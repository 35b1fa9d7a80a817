import { Skeleton } from "@mantine/core";
import type { ReactElement } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import cardClasses from "../../ui/cards.module.css";
import { countOf } from "../../ui/count.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { ApiKeyActions } from "./api-key-actions.tsx";
import classes from "./api-key-cards.module.css";
import type { ApiKeyListProps } from "./api-key-list.tsx";

export function ApiKeyCards({ apiKeys, isOld, onEdit, onDelete }: ApiKeyListProps): ReactElement {
  return (
    <ul
      className={cardClasses.list}
      aria-label="API keys"
      aria-busy={!apiKeys || isOld}
      data-old={isOld || undefined}
    >
      {apiKeys
        ? apiKeys.map((apiKey) => (
            <Card
              key={apiKey.id}
              apiKey={apiKey}
              onEdit={() => onEdit(apiKey)}
              onDelete={() => onDelete(apiKey)}
            />
          ))
        : [1, 2, 3, 4].map((place) => <CardSkeleton key={place} />)}
    </ul>
  );
}

interface CardProps {
  readonly apiKey: ApiKey;
  readonly onEdit: () => void;
  readonly onDelete: () => void;
}

function Card({ apiKey, onEdit, onDelete }: CardProps): ReactElement {
  const { name, description, start, createdAt, lastUsedAt, usageCount } = apiKey;
  return (
    <li className={cardClasses.card}>
      <div className={cardClasses.head}>
        <h2 className={cardClasses.name}>{name}</h2>
        <div className={classes.actions}>
          <ApiKeyActions name={name} onEdit={onEdit} onDelete={onDelete} />
        </div>
      </div>
      {description && <p className={classes.description}>{description}</p>}
      <p className={cardClasses.facts}>
        <code className={classes.start}>{start}…</code>
        <span>
          Created <RelativeTime at={createdAt} />
        </span>
      </p>
      <p className={cardClasses.facts}>
        <span>{countOf(usageCount, "use", "uses")}</span>
        <span>
          {lastUsedAt ? (
            <>
              Last used <RelativeTime at={lastUsedAt} />
            </>
          ) : (
            "Never used"
          )}
        </span>
      </p>
    </li>
  );
}

function CardSkeleton(): ReactElement {
  return (
    <li className={cardClasses.card}>
      <div className={cardClasses.head}>
        <Skeleton h={16} w="50%" />
      </div>
      <Skeleton h={12} mt={12} />
      <Skeleton h={12} mt={12} />
    </li>
  );
}
