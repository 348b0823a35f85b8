import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { pauseRows, toLiveRows } from "./live-rows.ts";
import type { PausedView } from "./live-rows.ts";
import { newestRunsQuery, runPagesQuery } from "./queries.ts";
import type { RunListQuery } from "./queries.ts";
import type { RunItem } from "./run-item.ts";

export interface RunList {
  /** `undefined` until the first answer. */
  readonly rows: readonly RunItem[] | undefined;
  readonly error: Error | null;
  readonly hasMore: boolean;
  readonly readMore: () => void;
  /** Has a search that stopped on its way go on. */
  readonly searchOn: () => void;
  readonly retry: () => unknown;
  /** Rows that came while the list was held. */
  readonly newCount: number;
  /** Lets them in. */
  readonly release: () => void;
  /** How far back a search came that goes on. */
  readonly searchedToMs: number | undefined;
  /** Whether the search stopped on its way, to go on when it is asked to. */
  readonly isPaused: boolean;
  /** Whether new runs are shown: only where the newest come first and the time has no end. */
  readonly isLive: boolean;
}

/** Rows of the top whose end is looked for again. */
const watched = 100;
/** Pages without a row that are asked for of themselves, one after the other. */
const emptyPagesMax = 40;

/** The rows of a list: what was read, and while it is live what came since. */
export function useRunList(query: RunListQuery, isHeld: boolean): RunList {
  const queryClient = useQueryClient();
  const pages = useInfiniteQuery(runPagesQuery(query));
  const read = useMemo(() => pages.data?.pages.map(({ items }) => items) ?? [], [pages.data]);
  const isLive = query.sort === "start" && query.order === "desc" && query.range.toMs === undefined;
  const sinceMs = read.flat().slice(0, watched).at(-1)?.startMs;
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
  // Rows that were kept back from a list with another order or filter do not belong to this one.
  const list = JSON.stringify(query);
  const [kept, setKept] = useState<{ readonly list: string; readonly paused: PausedView }>();
  const paused = kept?.list === list ? kept.paused : undefined;
  const live = useMemo(() => toLiveRows({ pages: read, newest: top, paused }), [read, top, paused]);
  if (isHeld && paused === undefined && live.rows.length > 0) {
    setKept({ list, paused: pauseRows(live.rows) });
  } else if (!isHeld && kept !== undefined) {
    setKept(undefined);
  }
  const hasGap = live.hasGap && paused === undefined;
  useEffect(() => {
    if (hasGap) {
      // More came than one answer holds: the list begins anew.
      void queryClient.resetQueries({ queryKey: runPagesQuery(query).queryKey });
    }
  }, [hasGap, query, queryClient]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage, error } = pages;
  const last = pages.data?.pages.at(-1);
  const emptyCount = countEmpty(pages.data?.pages ?? []);
  const [emptyAllowed, setEmptyAllowed] = useState(emptyPagesMax);
  const goesOn = hasNextPage && last?.isShort === true && emptyCount <= emptyAllowed;
  useEffect(() => {
    // The time was over before a page was full: the search goes on where it stopped.
    if (goesOn && !isFetchingNextPage && error === null) {
      void fetchNextPage();
    }
  }, [goesOn, isFetchingNextPage, fetchNextPage, error]);
  return {
    rows: pages.data === undefined ? undefined : live.rows,
    error: error ?? newest.error,
    hasMore: hasNextPage,
    readMore: () => {
      if (!isFetchingNextPage && hasNextPage && last?.isShort !== true) {
        void fetchNextPage();
      }
    },
    searchOn: () => setEmptyAllowed(emptyCount + emptyPagesMax),
    retry: pages.refetch,
    newCount: live.newCount,
    release: () => setKept(undefined),
    searchedToMs: last?.searchedToMs,
    isPaused: hasNextPage && last?.isShort === true && emptyCount > emptyAllowed,
    isLive,
  };
}

/** Pages at the end without a full one. */
function countEmpty(pages: readonly { readonly isShort: boolean }[]): number {
  const full = pages.findLastIndex(({ isShort }) => !isShort);
  return pages.length - 1 - full;
}
