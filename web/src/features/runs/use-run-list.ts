import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { toPausedView, toLiveRows } from "./live-rows.ts";
import type { PausedView } from "./live-rows.ts";
import { createNewestRunsQuery, createRunPagesQuery } from "./queries.ts";
import type { RunListQuery } from "./queries.ts";
import type { RunItem } from "./run-item.ts";

/** The rows of the run list, its loading state, and functions to load more. */
export interface RunList {
  /** `undefined` until the first response. */
  readonly rows: readonly RunItem[] | undefined;
  readonly error: Error | null;
  readonly hasMore: boolean;
  readonly loadMore: () => void;
  readonly continueSearch: () => void;
  readonly retry: () => unknown;
  /** The number of rows that arrived while the list was paused. */
  readonly newCount: number;
  /** Shows the rows that arrived while the list was paused. */
  readonly resume: () => void;
  /**
   * The start time that an unfinished search has reached; `undefined` if no search is unfinished. A search goes from
   * the newest run to the oldest.
   */
  readonly searchedToMs: number | undefined;
  /** Whether the search stopped before its end and waits for {@link RunList.continueSearch}. */
  readonly isSearchPaused: boolean;
  /**
   * Whether the list polls for new runs. It does so only if it shows the newest runs first and its time range has no
   * end.
   */
  readonly isLive: boolean;
}

/** The number of rows at the top that each poll reads again, so that the list shows when these runs end. */
const polledRowCount = 100;
/** The number of consecutive pages that are not full after which the search pauses until the user continues it. */
const maxPartialPages = 40;

/** Loads the rows of a list page by page. While the list is live, it also polls for new rows. */
export function useRunList(query: RunListQuery, isPaused: boolean): RunList {
  const queryClient = useQueryClient();
  const pages = useInfiniteQuery(createRunPagesQuery(query));
  const loadedPages = useMemo(
    () => pages.data?.pages.map(({ items }) => items) ?? [],
    [pages.data],
  );
  const isLive = query.sort === "start" && query.order === "desc" && query.range.toMs === undefined;
  const sinceMs = loadedPages.flat().slice(0, polledRowCount).at(-1)?.startMs;
  const newestQuery = useQuery({
    ...createNewestRunsQuery(query, sinceMs),
    enabled: isLive && pages.data !== undefined,
  });
  const newestRows = useMemo(
    () =>
      isLive && newestQuery.data !== undefined
        ? { items: newestQuery.data.items, hasMore: newestQuery.data.next !== undefined }
        : undefined,
    [isLive, newestQuery.data],
  );
  // Ignore the paused rows of an earlier query, which had another order or filter.
  const queryText = JSON.stringify(query);
  const [pausedQuery, setPausedQuery] = useState<{
    readonly queryText: string;
    readonly view: PausedView;
  }>();
  const pausedView = pausedQuery?.queryText === queryText ? pausedQuery.view : undefined;
  const liveRows = useMemo(
    () => toLiveRows({ pages: loadedPages, latestPoll: newestRows, pausedView }),
    [loadedPages, newestRows, pausedView],
  );
  if (isPaused && pausedView === undefined && liveRows.rows.length > 0) {
    setPausedQuery({ queryText, view: toPausedView(liveRows.rows) });
  } else if (!isPaused && pausedQuery !== undefined) {
    setPausedQuery(undefined);
  }
  const hasGap = liveRows.hasGap && pausedView === undefined;
  useEffect(() => {
    if (hasGap) {
      // More runs arrived than one response contains, so load the list again from the top.
      void queryClient.resetQueries({ queryKey: createRunPagesQuery(query).queryKey });
    }
  }, [hasGap, query, queryClient]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage, error } = pages;
  const lastPage = pages.data?.pages.at(-1);
  const partialPageCount = countPartialPages(pages.data?.pages ?? []);
  const [allowedPartialPages, setAllowedPartialPages] = useState(maxPartialPages);
  const shouldContinueSearch =
    hasNextPage && lastPage?.isShort === true && partialPageCount <= allowedPartialPages;
  useEffect(() => {
    // The server's time limit ended the search before the page was full, so continue the search.
    if (shouldContinueSearch && !isFetchingNextPage && error === null) {
      void fetchNextPage();
    }
  }, [shouldContinueSearch, isFetchingNextPage, fetchNextPage, error]);
  return {
    rows: pages.data === undefined ? undefined : liveRows.rows,
    error: error ?? newestQuery.error,
    hasMore: hasNextPage,
    loadMore: () => {
      if (!isFetchingNextPage && hasNextPage && lastPage?.isShort !== true) {
        void fetchNextPage();
      }
    },
    continueSearch: () => setAllowedPartialPages(partialPageCount + maxPartialPages),
    retry: pages.refetch,
    newCount: liveRows.newCount,
    resume: () => setPausedQuery(undefined),
    searchedToMs: lastPage?.searchedToMs,
    isSearchPaused:
      hasNextPage && lastPage?.isShort === true && partialPageCount > allowedPartialPages,
    isLive,
  };
}

/** The number of partial pages after the last full page. */
function countPartialPages(pages: readonly { readonly isShort: boolean }[]): number {
  const lastFullIndex = pages.findLastIndex(({ isShort }) => !isShort);
  return pages.length - 1 - lastFullIndex;
}
