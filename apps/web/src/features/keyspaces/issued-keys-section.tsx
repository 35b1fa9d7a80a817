import { maxLength } from "@latchkey/limits";
import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Fragment, type ReactElement, useEffect, useMemo, useRef } from "react";
import {
  type Consumer,
  type IssuedKey,
  type Keyspace,
  type SessionWorkspace,
  trpc,
} from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { titleOfKey } from "../../ui/issued-key-title.ts";
import { NoMatch } from "../../ui/no-match.tsx";
import { useFilterReset } from "../../ui/use-filter-reset.ts";
import { type TableNavigationOptions, useTableNavigation } from "../../ui/use-table-navigation.ts";
import { issuedKeyColumns } from "./issued-key-columns.tsx";
import { cutCompleteKey, cutSecret } from "./key-search.ts";
import { defaultKeySort, type IssuedKeysSearch, keyStatusTitles } from "./keyspaces-search.ts";
import { LazyBulkBar } from "./lazy-bulk-bar.tsx";
import { isIssuedPermission } from "./permission-lines.ts";
import { RecentUsageProvider } from "./recent-usage.tsx";
import { TextFilter } from "./text-filter.tsx";
import { useExaminedList } from "./use-examined-list.ts";
import { useIssuedKeys } from "./use-keyspaces.ts";

const nouns = ["key", "keys"] as const;
const noKeys: readonly IssuedKey[] = [];
const noFilters = { q: undefined, status: undefined, consumer: undefined, permission: undefined };

interface IssuedKeysProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
  /** Shows only the keys of a consumer. */
  readonly consumer?: Consumer;
  /** The state of the table in the URL. */
  readonly search: IssuedKeysSearch;
  /** Changes the search part of the URL; the `navigate` of the page's route. */
  readonly onSearch: TableNavigationOptions<IssuedKeysSearch>["navigate"];
  /** Whether the user may issue and change keys. */
  readonly canManage: boolean;
  readonly onIssue: () => void;
}

/** The keys of a keyspace, or those of a consumer. */
export function IssuedKeys(props: IssuedKeysProps): ReactElement {
  const { workspace, keyspace, consumer: owner, search, onSearch, canManage, onIssue } = props;
  const navigate = useNavigate();
  const path = { workspaceId: workspace.id, keyspaceId: keyspace.id };
  const filters = { ...search, ...(owner && { consumer: owner.externalId }) };
  const keys = useIssuedKeys(path, keyspace.prefix, filters);
  const loaded = useExaminedList(useGrowingList(keys));
  const table = useTableNavigation<IssuedKeysSearch>({ navigate: onSearch, isSection: true });
  const filterReset = useFilterReset(() => table.change(noFilters));
  useNewKeys(owner);
  const isOfConsumer = owner !== undefined;
  const columns = useMemo(() => {
    const [name, ...others] = issuedKeyColumns(workspace.slug);
    return [name, ...others.filter(({ id }) => !isOfConsumer || id !== "consumer")] as const;
  }, [workspace.slug, isOfConsumer]);
  const { q, status, consumer, permission } = search;
  const hasFilters = status !== undefined || consumer !== undefined || permission !== undefined;
  const isFiltered = q !== undefined || hasFilters;
  const { keyCount } = owner ?? keyspace;
  // The number of keys is known, so an empty list needs no placeholders, which would move what is below.
  const list = keyCount === 0 && !isFiltered && !loaded.items ? { ...loaded, items: noKeys } : loaded;
  return (
    <RecentUsageProvider path={path} pages={keys.data?.pages}>
      <GrowingTable
        label="Keys"
        searchField={{
          label: "Search keys",
          placeholder: "Name or first characters",
          cut: (text) => cutSecret(text, keyspace.prefix),
        }}
        filters={
          <Fragment key={filterReset.key}>
            <FilterSelect
              label="Status"
              anyLabel="Any status"
              options={keyStatusTitles}
              value={status}
              onChoose={(status) => table.change({ status })}
            />
            {!owner && (
              <TextFilter
                label="External ID"
                maxLength={maxLength.externalId}
                cut={cutCompleteKey}
                isComplete={() => true}
                value={consumer}
                onChoose={(consumer) => table.change({ consumer })}
              />
            )}
            <TextFilter
              label="Permission"
              maxLength={maxLength.issuedPermission}
              isComplete={isIssuedPermission}
              error="Enter a permission such as documents.read."
              value={permission}
              onChoose={(permission) => table.change({ permission })}
            />
          </Fragment>
        }
        list={list}
        nouns={nouns}
        total={isFiltered ? "uncounted" : keyCount}
        {...(!isFiltered && { expectedCount: keyCount })}
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
            nameOf: titleOfKey,
            bar: (items, onSelect) => <LazyBulkBar path={path} items={items} onSelect={onSelect} />,
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
            <NoMatch noun="key" search={q} hasFilters={hasFilters} level={3} onClear={filterReset.reset}>
              Search covers the start of names and the first characters of keys.{" "}
              {owner ? "The filter matches permissions" : "Filters match external IDs and permissions"}{" "}
              exactly.
            </NoMatch>
          ) : (
            <EmptyPanel
              title={owner ? "No keys" : "No keys yet"}
              level={3}
              action={
                canManage && (
                  <Button leftSection={<IconPlus size={16} />} onClick={onIssue}>
                    {owner ? "Issue key" : "Issue the first key"}
                  </Button>
                )
              }
            >
              {owner
                ? "This consumer has no keys. Consumers without keys and shared rate limits are removed after 30 days."
                : "Issue a key to a consumer of your API. Your service verifies it with each request, and the result says who sent it and what they may do."}
            </EmptyPanel>
          )
        }
      />
    </RecentUsageProvider>
  );
}

/** Loads the list again if the number of keys of its consumer has changed. Only the consumer is read every few seconds. */
function useNewKeys(owner: Consumer | undefined): void {
  const queryClient = useQueryClient();
  const keyCount = owner?.keyCount;
  const listedCount = useRef(keyCount);
  useEffect(() => {
    if (listedCount.current === keyCount) return;
    listedCount.current = keyCount;
    void queryClient.invalidateQueries({ queryKey: trpc.issuedKeys.list.pathKey() });
  }, [keyCount, queryClient]);
}

function idOf({ id }: IssuedKey): string {
  return id;
}
