import { Skeleton } from "@mantine/core";
import { createContext, type ReactElement, type ReactNode, useContext } from "react";
import { type Keyspace, trpc } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { LastUseHour } from "../../ui/last-use-hour.tsx";
import { freshMs, type StatisticsById, usePageStatistics } from "./use-page-statistics.ts";

interface Use {
  /** The uses in the last 30 days. */
  readonly useCount: number;
  /** The hour of the last verification; null if the history, which covers `HISTORY_DAYS`, has none. */
  readonly lastVerifiedAt: string | null;
}

/** Undefined while the first keyspaces load; null if their use couldn't be loaded. */
const KeyspaceUseContext = createContext<StatisticsById<Use> | null | undefined>(undefined);

const unused: Use = { useCount: 0, lastVerifiedAt: null };

interface KeyspaceUseProviderProps {
  readonly workspaceId: string;
  /** The loaded pages of keyspaces. */
  readonly pages: readonly { readonly items: readonly Pick<Keyspace, "id">[] }[] | undefined;
  readonly children: ReactNode;
}

/** Loads the use of the keyspaces of a table, for its cells. */
export function KeyspaceUseProvider({
  workspaceId,
  pages,
  children,
}: KeyspaceUseProviderProps): ReactElement {
  const use = usePageStatistics<Use>({
    queryKey: ["keyspace-use", workspaceId],
    pages,
    load: (queryClient, ids) =>
      queryClient.fetchQuery({
        ...trpc.keyspaceUsage.keyspaceUses.queryOptions({ workspaceId, ids }),
        staleTime: freshMs,
      }),
    empty: unused,
  });
  return <KeyspaceUseContext value={use}>{children}</KeyspaceUseContext>;
}

interface UseCellProps extends Pick<Keyspace, "id"> {
  readonly children: (use: Use) => ReactNode;
}

function UseCell({ id, children }: UseCellProps): ReactNode {
  const all = useContext(KeyspaceUseContext);
  if (all === null) return <EmptyCell />;
  const use = all?.[id];
  return use ? children(use) : <Skeleton component="span" display="inline-block" h={12} w={32} />;
}

/** The uses of a keyspace's keys in the last 30 days. */
export function KeyspaceUses({ id }: Pick<Keyspace, "id">): ReactElement {
  return <UseCell id={id}>{({ useCount }) => formatCount(useCount)}</UseCell>;
}

/** When a key of the keyspace was last verified. */
export function LastVerification({ id }: Pick<Keyspace, "id">): ReactElement {
  return (
    <UseCell id={id}>
      {({ lastVerifiedAt }) =>
        lastVerifiedAt === null ? <EmptyCell /> : <LastUseHour startsAt={lastVerifiedAt} isFirst />
      }
    </UseCell>
  );
}
