import { useMediaQuery } from "@mantine/hooks";
import type { ReactElement } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import { ApiKeyCards } from "./api-key-cards.tsx";
import { ApiKeyTable } from "./api-key-table.tsx";

export interface ApiKeyListProps {
  /** Undefined while they load: placeholders of the same shape stand in. */
  readonly apiKeys: readonly ApiKey[] | undefined;
  readonly onEdit: (apiKey: ApiKey) => void;
  readonly onDelete: (apiKey: ApiKey) => void;
}

/** The keys as rows, or as cards where rows have no room. */
export function ApiKeyList(props: ApiKeyListProps): ReactElement {
  const isNarrow = useMediaQuery("(max-width: 639px)", undefined, { getInitialValueInEffect: false });
  return isNarrow ? <ApiKeyCards {...props} /> : <ApiKeyTable {...props} />;
}
