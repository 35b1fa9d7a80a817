import { Skeleton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { memo, type ReactElement } from "react";
import cardClasses from "../../ui/cards.module.css";
import { countOf } from "../../ui/count.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { ApiKeyActions } from "./api-key-actions.tsx";
import classes from "./api-key-cards.module.css";
import type { ApiKeyItemProps, ApiKeyListProps } from "./api-key-list-props.ts";
import { KeyTags } from "./key-tags.tsx";
import { useOpenKey } from "./use-open-key.ts";

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
            <Card key={apiKey.id} apiKey={apiKey} onEdit={onEdit} onDelete={onDelete} />
          ))
        : [1, 2, 3, 4].map((place) => <CardSkeleton key={place} />)}
    </ul>
  );
}

/** The page renders several times on the way to another list; most of its work is in here. */
const Card = memo(function Card({ apiKey, onEdit, onDelete }: ApiKeyItemProps): ReactElement {
  const { id, name, description, start, createdAt, lastUsedAt, usageCount } = apiKey;
  const openUnlessOnControl = useOpenKey(id);
  return (
    // The name is the link; the card is only a larger place to hit it.
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link in it hears the keys
    <li className={`${cardClasses.card} ${classes.card}`} onClick={openUnlessOnControl}>
      <div className={cardClasses.head}>
        <h2 className={cardClasses.name}>
          <Link className={classes.name} to="/account/api-keys/$keyId" params={{ keyId: id }}>
            {name}
          </Link>
        </h2>
        <div className={classes.actions}>
          <ApiKeyActions name={name} onEdit={() => onEdit(apiKey)} onDelete={() => onDelete(apiKey)} />
        </div>
      </div>
      <div className={classes.tags}>
        <KeyTags apiKey={apiKey} />
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
});

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
