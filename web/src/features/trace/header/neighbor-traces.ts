import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { toLiveRows } from "../../runs/live-rows.ts";
import { createNewestRunsQuery, createRunPagesQuery } from "../../runs/queries.ts";
import { useListAddress } from "../../runs/use-list-address.ts";

/** A row of the run list from which the trace was opened. */
export interface NeighborTrace {
  readonly trace: string;
  /** Absent if the row is the root of its trace. */
  readonly run?: string;
}

/**
 * The rows before and after the open row, in the order of the run list. A row is `undefined` at an end of the list, or
 * if the list does not contain the open row.
 */
export interface NeighborTraces {
  readonly previous: NeighborTrace | undefined;
  readonly next: NeighborTrace | undefined;
}

/** Finds the neighbors of the open trace in the run list, whose filter and order are in the URL. */
export function useNeighborTraces(
  projectId: string,
  { traceId, runId }: { readonly traceId: string; readonly runId: string },
): NeighborTraces {
  const { query } = useListAddress(projectId);
  const queryClient = useQueryClient();
  const { data, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery(
    createRunPagesQuery(query),
  );
  const rows = useMemo(() => {
    const poll = queryClient.getQueryData(createNewestRunsQuery(query, undefined).queryKey);
    return toLiveRows({
      pages: data?.pages.map(({ items }) => items) ?? [],
      latestPoll: poll && { items: poll.items, hasMore: poll.next !== undefined },
      pausedView: undefined,
    }).rows;
  }, [data, query, queryClient]);
  const ownIndex = rows.findIndex(({ id }) => id === runId);
  const index = ownIndex >= 0 ? ownIndex : rows.findIndex((row) => row.traceId === traceId);
  const isLast = index >= 0 && index === rows.length - 1;
  useEffect(() => {
    if (isLast && hasNextPage && !isFetching) {
      void fetchNextPage();
    }
  }, [isLast, hasNextPage, isFetching, fetchNextPage]);
  const toNeighbor = (row: (typeof rows)[number] | undefined): NeighborTrace | undefined =>
    row && { trace: row.traceId, ...(row.id === row.traceId ? {} : { run: row.id }) };
  return index < 0
    ? { previous: undefined, next: undefined }
    : { previous: toNeighbor(rows[index - 1]), next: toNeighbor(rows[index + 1]) };
}
