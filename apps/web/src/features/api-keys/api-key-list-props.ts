import type { ApiKey } from "../../server/trpc.ts";

export interface ApiKeyListProps {
  /** Undefined while they load: placeholders of the same shape stand in. */
  readonly apiKeys: readonly ApiKey[] | undefined;
  /** Whether they answer the search or page before, while those of now load. */
  readonly isOld: boolean;
  /** The same function at each render, as is `onDelete`: a key whose props stay is not rendered again. */
  readonly onEdit: (apiKey: ApiKey) => void;
  readonly onDelete: (apiKey: ApiKey) => void;
}

export type ApiKeyItemProps = Pick<ApiKeyListProps, "onEdit" | "onDelete"> & { readonly apiKey: ApiKey };
