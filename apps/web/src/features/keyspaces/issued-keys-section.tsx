import { maxLength } from "@latchkey/limits";
import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useEffect, useMemo } from "react";
import type { IssuedKey, Keyspace, SessionWorkspace } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { BulkBar } from "../../ui/bulk-bar.tsx";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { type GrowingList, GrowingTable } from "../../ui/growing-table.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { bulkKeys, issuedKeyActions } from "./issued-key-bulk-actions.ts";
import { issuedKeyColumns } from "./issued-key-columns.tsx";
import { cutSecret } from "./key-search.ts";
import { defaultKeySort, type IssuedKeysSearch, keyStatusTitles } from "./keyspaces-search.ts";
import { isIssuedPermission } from "./permission-lines.ts";
import { TextFilter } from "./text-filter.tsx";
import { useIssuedKeys } from "./use-keyspaces.ts";

const route = getRouteApi("/app/w/$slug/keyspaces/$keyspaceId");
const nouns = ["key", "keys"] as const;
const noFilters = { q: undefined, status: undefined, consumer: undefined, permission: undefined };

interface IssuedKeysProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
  /** Whether the user may issue and change keys. */
  readonly canManage: boolean;
  readonly onIssue: () => void;
}

/** The keys of a keyspace. */
export function IssuedKeys({ workspace, keyspace, canManage, onIssue }: IssuedKeysProps): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const path = { workspaceId: workspace.id, keyspaceId: keyspace.id };
  const list = useExaminedList(useGrowingList(useIssuedKeys(path, keyspace.prefix, search)));
  const navigation = useTableNavigation<IssuedKeysSearch>({ navigate, isSection: true });
  const table = {
    ...navigation,
    change: (next: Parameters<typeof navigation.change>[0]) =>
      navigation.change(next.q === undefined ? next : { ...next, q: cutSecret(next.q) }),
  };
  const columns = useMemo(() => issuedKeyColumns(workspace.slug), [workspace.slug]);
  const { q, status, consumer, permission } = search;
  const hasFilters = status !== undefined || consumer !== undefined || permission !== undefined;
  const isFiltered = q !== undefined || hasFilters;
  return (
    <GrowingTable
      label="Keys"
      searchField={{ label: "Search keys", placeholder: "Search by name or first characters" }}
      filters={
        <>
          <FilterSelect
            label="Status"
            anyLabel="Any status"
            options={keyStatusTitles}
            value={status}
            onChoose={(status) => table.change({ status })}
          />
          <TextFilter
            label="External ID"
            maxLength={maxLength.externalId}
            isComplete={() => true}
            value={consumer}
            onChoose={(consumer) => table.change({ consumer })}
          />
          <TextFilter
            label="Permission"
            maxLength={maxLength.issuedPermission}
            isComplete={isIssuedPermission}
            error="Enter a permission such as documents.read."
            value={permission}
            onChoose={(permission) => table.change({ permission })}
          />
        </>
      }
      list={list}
      nouns={nouns}
      total={isFiltered ? "uncounted" : keyspace.keyCount}
      isFiltered={isFiltered}
      failureTitle="Couldn’t load keys"
      columns={columns}
      isTall
      idOf={idOf}
      search={search}
      navigation={table}
      defaultSort={defaultKeySort}
      selection={
        canManage && {
          nameOf: bulkKeys.nameOf,
          bar: (items, onSelect) => (
            <BulkBar {...bulkKeys} items={items} actions={issuedKeyActions(path)} onSelect={onSelect} />
          ),
        }
      }
      onOpen={({ id }) =>
        void navigate({
          to: "/w/$slug/keyspaces/$keyspaceId/keys/$keyId",
          params: { slug: workspace.slug, keyspaceId: keyspace.id, keyId: id },
        })
      }
      empty={
        isFiltered ? (
          <NoMatch
            noun="key"
            search={q}
            hasFilters={hasFilters}
            level={3}
            onClear={() => navigation.change(noFilters)}
          >
            Search covers the start of names and the first characters of keys. Filters match external IDs and
            permissions exactly.
          </NoMatch>
        ) : (
          <EmptyPanel
            title="No keys yet"
            level={3}
            action={
              canManage && (
                <Button leftSection={<IconPlus size={16} />} onClick={onIssue}>
                  Issue the first key
                </Button>
              )
            }
          >
            Issue a key to a consumer of your API. Your service verifies it with each request, and the result
            says who sent it and what they may do.
          </EmptyPanel>
        )
      }
    />
  );
}

/**
 * With filters that match few keys together, a page can be empty although later ones are not: each request examines a part
 * of the keys. Loads pages until one has keys.
 */
function useExaminedList(list: GrowingList<IssuedKey>): GrowingList<IssuedKey> {
  const { items, hasMore, isStale, isLoadingMore, moreFailure, onShowMore } = list;
  const isSearching = items?.length === 0 && hasMore && !isStale && moreFailure === undefined;
  useEffect(() => {
    if (isSearching && !isLoadingMore) onShowMore();
  }, [isSearching, isLoadingMore, onShowMore]);
  return isSearching ? { ...list, items: undefined } : list;
}

function idOf({ id }: IssuedKey): string {
  return id;
}
