import { Button, Skeleton } from "@mantine/core";
import {
  infiniteQueryOptions,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useEffect, useRef } from "react";
import { describeFailure } from "../../server/failure.ts";
import { trpc, trpcClient } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { countOf } from "../../ui/count.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { Section } from "../../ui/section.tsx";
import { SegmentedControl } from "../../ui/segmented-control.tsx";
import { ShowMore } from "../../ui/show-more.tsx";
import { NoticeList } from "./notice-list.tsx";
import { NoticeSettings } from "./notice-settings.tsx";
import classes from "./notices.module.css";

const route = getRouteApi("/app/account/notices");
const appRoute = getRouteApi("/app");

const filters = [
  { value: "all", label: "All" },
  { value: "unread", label: "Unread" },
] as const;

const listQuery = (isUnread: boolean) =>
  infiniteQueryOptions({
    queryKey: trpc.notices.list.infiniteQueryKey({ isUnread }),
    queryFn: ({ pageParam: cursor }) =>
      trpcClient.notices.list.query(cursor === null ? { isUnread } : { isUnread, cursor }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });

/** The user's notices, and how they get them. */
export function NoticesPage(): ReactElement {
  const { show } = route.useSearch();
  const navigate = route.useNavigate();
  const { session } = appRoute.useRouteContext();
  const queries = useQueryClient();
  const isUnread = show === "unread";
  const list = useInfiniteQuery(listQuery(isUnread));
  // Unread notices can be older than those that are loaded.
  const { data: unreadCount = 0 } = useQuery(trpc.notices.unreadCount.queryOptions());
  const shownCount = useRef(unreadCount);
  useEffect(() => {
    if (shownCount.current === unreadCount) return;
    shownCount.current = unreadCount;
    // The button that marks all as read must not mark notices that the list doesn't show. Only up to 100 are counted.
    void queries.invalidateQueries(trpc.notices.list.pathFilter());
  }, [unreadCount, queries]);
  const failure = useLoadingFailure(list);
  const onSettled = async () => {
    await Promise.all([
      queries.invalidateQueries(trpc.notices.list.pathFilter()),
      queries.invalidateQueries(trpc.notices.unreadCount.queryFilter()),
    ]);
  };
  const read = useMutation(trpc.notices.markRead.mutationOptions({ onSettled }));
  const readAll = useMutation(trpc.notices.markAllRead.mutationOptions({ onSettled }));
  const error = read.error ?? readAll.error;
  const title = useRef<HTMLHeadingElement>(null);
  const markRead = (id: string, item: HTMLElement | null) => {
    // The button is removed, and with the filter, the whole notice.
    const next = isUnread ? (item?.nextElementSibling ?? item?.previousElementSibling) : item;
    (next?.querySelector("h3") ?? title.current)?.focus();
    readAll.reset();
    read.mutate({ id });
  };
  const markAllRead = () => {
    title.current?.focus();
    read.reset();
    readAll.mutate();
  };
  const notices = list.data?.pages.flatMap(({ items }) => items);
  return (
    <>
      <PageHeader
        title="Notices"
        titleRef={title}
        explanation="What happened to your account and your API keys. Notices are deleted after 90 days."
      />
      <Section
        title="Your notices"
        isWide
        action={
          <div className={classes.actions}>
            <SegmentedControl
              label="Notices to show"
              options={filters}
              value={isUnread ? "unread" : "all"}
              onChoose={(value) =>
                void navigate({ search: value === "unread" ? { show: value } : {}, replace: true })
              }
            />
            {(unreadCount > 0 || notices?.some((notice) => !notice.isRead)) && (
              <Button variant="default" loading={readAll.isPending} onClick={markAllRead}>
                Mark all as read
              </Button>
            )}
          </div>
        }
      >
        {error && (
          <p className={classes.note} role="alert">
            Couldn’t mark it as read. {describeFailure(error).message}
          </p>
        )}
        {failure ? (
          <FailurePanel
            title="Couldn’t load your notices"
            message={failure.message}
            requestId={failure.requestId}
            isRetrying={list.isFetching}
            onRetry={() => void list.refetch()}
          />
        ) : notices?.length === 0 ? (
          <EmptyPanel
            title={isUnread ? "No unread notices" : "No notices yet"}
            level={3}
            action={
              isUnread ? (
                <Button
                  variant="default"
                  onClick={() => {
                    // The list replaces the button.
                    title.current?.focus();
                    void navigate({ search: {}, replace: true });
                  }}
                >
                  Show all notices
                </Button>
              ) : (
                <Button variant="default" renderRoot={(props) => <Link {...props} to="/account/api-keys" />}>
                  Go to your API keys
                </Button>
              )
            }
          >
            When one of your API keys is about to expire, your role changes, or someone signs in from a new
            device, a notice appears here.
          </EmptyPanel>
        ) : notices ? (
          <>
            <NoticeList notices={notices} workspaces={session.workspaces} onRead={markRead} />
            {list.hasNextPage && (
              <ShowMore
                hasMore={list.hasNextPage}
                isLoading={list.isFetchingNextPage}
                failure={
                  list.isFetchNextPageError
                    ? `Couldn’t load more. ${describeFailure(list.error).message}`
                    : undefined
                }
                onShowMore={() => void list.fetchNextPage()}
              >
                {countOf(notices.length, "notice", "notices")}
              </ShowMore>
            )}
          </>
        ) : (
          <Skeleton h={240} />
        )}
      </Section>
      <NoticeSettings />
    </>
  );
}
