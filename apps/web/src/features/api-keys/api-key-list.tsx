import { useMediaQuery } from "@mantine/hooks";
import type { ReactElement } from "react";
import { ApiKeyCards } from "./api-key-cards.tsx";
import type { ApiKeyListProps } from "./api-key-list-props.ts";
import { ApiKeyTable } from "./api-key-table.tsx";

/** The keys as rows, or as cards where rows have no room. */
export function ApiKeyList(props: ApiKeyListProps): ReactElement {
  const isNarrow = useMediaQuery("(max-width: 759px)", undefined, { getInitialValueInEffect: false });
  return isNarrow ? <ApiKeyCards {...props} /> : <ApiKeyTable {...props} />;
}
