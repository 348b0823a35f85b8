import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { pauseRows, toLiveRows } from "./live-rows.ts";
import type { PausedView } from "./live-rows.ts";
import { newestRunsQuery, runPagesQuery } from "./queries.ts";
import type { RunListQuery } from "./queries.ts";
import type { RunItem } from "./run-item.ts";

/** The rows of the run list, its loading state, and functions to load more. */
export interface RunList {
  /** `undefined` until the first response. */
  readonly rows: readonly RunItem[] | undefined;
  readonly error: Error | null;
  readonly hasMore: boolean;
  readonly loadMore: () => void;
  /** Continues a search that is paused. */
  readonly continueSearch: () => void;
  readonly retry: () => unknown;
  /** The number of rows that arrived while the list was paused. */
  readonly newCount: number;
  /** Shows the rows that arrived while the list was paused. */
  readonly resume: () => void;
  /** The start time up to which an unfinished search has progressed backwards; `undefined` when it is complete. */
  readonly searchedToMs: number | undefined;
  /** Whether the search stopped before its end and waits for {@link RunList.continueSearch}. */
  readonly isSearchPaused: boolean;
  /** Whether new runs appear by themselves: only if the newest come first and the time range has no end. */
  readonly isLive: boolean;
}

/** The poll covers this many rows from the top, so that the list shows when these runs end. */
const polledRows = 100;
/** After this many requests in a row that did not fill a page, the search pauses until the user continues it. */
const partialPagesMax = 40;

/** Loads the rows of a list page by page. While the list is live, it also polls for new rows. */
export function useRunList(query: RunListQuery, isPaused: boolean): RunList {
  const queryClient = useQueryClient();
  const pages = useInfiniteQuery(runPagesQuery(query));
  const loaded = useMemo(() => pages.data?.pages.map(({ items }) => items) ?? [], [pages.data]);
  const isLive = query.sort === "start" && query.order === "desc" && query.range.toMs === undefined;
  const sinceMs = loaded.flat().slice(0, polledRows).at(-1)?.startMs;
  const newest = useQuery({
    ...newestRunsQuery(query, sinceMs),
    enabled: isLive && pages.data !== undefined,
  });
  const top = useMemo(
    () =>
      isLive && newest.data !== undefined
        ? { items: newest.data.items, hasMore: newest.data.next !== undefined }
        : undefined,
    [isLive, newest.data],
  );
  // A view that was paused with another order or filter does not apply to this query.
  const queryText = JSON.stringify(query);
  const [pausedQuery, setPausedQuery] = useState<{
    readonly queryText: string;
    readonly view: PausedView;
  }>();
  const paused = pausedQuery?.queryText === queryText ? pausedQuery.view : undefined;
  const live = useMemo(
    () => toLiveRows({ pages: loaded, newest: top, paused }),
    [loaded, top, paused],
  );
  if (isPaused && paused === undefined && live.rows.length > 0) {
    setPausedQuery({ queryText, view: pauseRows(live.rows) });
  } else if (!isPaused && pausedQuery !== undefined) {
    setPausedQuery(undefined);
  }
  const hasGap = live.hasGap && paused === undefined;
  useEffect(() => {
    if (hasGap) {
      // More runs arrived than one response contains: load the list again from the top.
      void queryClient.resetQueries({ queryKey: runPagesQuery(query).queryKey });
    }
  }, [hasGap, query, queryClient]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage, error } = pages;
  const last = pages.data?.pages.at(-1);
  const partialCount = countPartial(pages.data?.pages ?? []);
  const [partialAllowed, setPartialAllowed] = useState(partialPagesMax);
  const isContinuing = hasNextPage && last?.isShort === true && partialCount <= partialAllowed;
  useEffect(() => {
    // The server's time limit ended the search before the page was full: continue it.
    if (isContinuing && !isFetchingNextPage && error === null) {
      void fetchNextPage();
    }
  }, [isContinuing, isFetchingNextPage, fetchNextPage, error]);
  return {
    rows: pages.data === undefined ? undefined : live.rows,
    error: error ?? newest.error,
    hasMore: hasNextPage,
    loadMore: () => {
      if (!isFetchingNextPage && hasNextPage && last?.isShort !== true) {
        void fetchNextPage();
      }
    },
    continueSearch: () => setPartialAllowed(partialCount + partialPagesMax),
    retry: pages.refetch,
    newCount: live.newCount,
    resume: () => setPausedQuery(undefined),
    searchedToMs: last?.searchedToMs,
    isSearchPaused: hasNextPage && last?.isShort === true && partialCount > partialAllowed,
    isLive,
  };
}

/** The number of partial pages after the last full page. */
function countPartial(pages: readonly { readonly isShort: boolean }[]): number {
  const lastFull = pages.findLastIndex(({ isShort }) => !isShort);
  return pages.length - 1 - lastFull;
}
