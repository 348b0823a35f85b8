import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { createCommentCountsQuery } from "../comments/queries.ts";
import { minContentChars, createContentSearchQuery } from "./queries.ts";
import type { LoadedTrace, TraceSource } from "./queries.ts";
import { searchRuns } from "./search-runs.ts";
import { computeFullRange } from "./time-scale.ts";
import type { TimeWindow } from "./time-scale.ts";
import { findCriticalPath, findFailedRuns, computeSelfTimes, findSlowest } from "./trace-facts.ts";
import type { Interval } from "./trace-facts.ts";
import type { TraceModel } from "./trace-model.ts";
import { sumSubtrees } from "./trace-usage.ts";
import type { SubtreeUsage } from "./trace-usage.ts";
import { splitList } from "./trace-search.ts";
import type { TraceSearch } from "./trace-search.ts";
import { toVisibleRuns } from "./visible-runs.ts";
import type { VisibleRuns } from "./visible-runs.ts";

/**
 * Returns how many of the slowest runs are marked: one fifth of all runs, but at most ten; none if there is one run.
 */
export const countSlowestRuns = (runCount: number): number =>
  runCount === 1 ? 0 : Math.min(10, Math.ceil(runCount / 5));
/** The server searches the payloads only when the user has not typed for this many milliseconds. */
const typingDelayMs = 150;

/** Statistics about where the time of a trace was spent. */
export interface TraceFacts {
  /** Microseconds, by run index. */
  readonly selfTimes: Float64Array;
  /** Indexes of the slowest runs, the slowest first. */
  readonly slowest: readonly number[];
  /** Indexes of the failed runs, in tree order. */
  readonly errors: readonly number[];
  /** Tokens and costs of the model calls in each run's subtree, by run index. */
  readonly usage: SubtreeUsage;
}

/** The data that the trace page shows, derived from the loaded trace and the URL. */
export interface TraceView {
  readonly model: TraceModel;
  readonly visibleRuns: VisibleRuns;
  /** `undefined` until computed, which happens after the first paint. */
  readonly facts: TraceFacts | undefined;
  /** The segments of the critical path by run index; empty while the path is not shown. */
  readonly path: ReadonlyMap<number, readonly Interval[]>;
  /** Indexes of the runs that match the search, in tree order. */
  readonly matches: readonly number[];
  readonly isSearching: boolean;
  /** The time range of the whole trace. */
  readonly fullRange: TimeWindow;
  /** The visible part of the whole time range. */
  readonly window: TimeWindow;
  /** The number of comments by the id of their run. */
  readonly commentCounts: ReadonlyMap<string, number>;
  /** The moment at which the bars of runs that have not ended stop, in microseconds since the model's `baseMicros`. */
  readonly now: number;
}

export function useTraceView(
  { model, readMs }: LoadedTrace,
  traceId: string,
  {
    source,
    search,
    collapsedIds,
  }: {
    readonly source: TraceSource;
    readonly search: TraceSearch;
    readonly collapsedIds: ReadonlySet<string>;
  },
): TraceView {
  const { close, hide, errors, path: isPathShown, zoom, find = "" } = search;
  const now = readMs * 1_000 - model.baseMicros;
  const visibleRuns = useMemo(
    () =>
      toVisibleRuns(model, {
        collapsedIds,
        collapsedTypes: splitList(close),
        hiddenTypes: splitList(hide),
        areOnlyErrorsShown: errors === true,
      }),
    [model, collapsedIds, close, hide, errors],
  );
  const fullRange = useMemo(() => computeFullRange(model, now), [model, now]);
  const window = useMemo(() => parseZoom(zoom, fullRange), [zoom, fullRange]);
  const facts = useDeferred(model, now, computeFacts);
  const path = useMemo(
    () => (isPathShown === true ? groupByRun(findCriticalPath(model, now)) : emptyPath),
    [model, now, isPathShown],
  );
  const isProjectTrace = source.kind === "project";
  const { matches, isSearching } = useMatches(model, find, {
    traceId,
    isContentSearched: isProjectTrace,
  });
  const { data: commentCounts } = useQuery({
    ...createCommentCountsQuery(traceId),
    enabled: isProjectTrace,
  });
  return {
    model,
    visibleRuns,
    facts,
    path,
    matches,
    isSearching,
    fullRange,
    window,
    commentCounts: commentCounts ?? noComments,
    now,
  };
}

const noComments: ReadonlyMap<string, number> = new Map();
const emptyPath: ReadonlyMap<number, readonly Interval[]> = new Map();

function groupByRun(path: readonly Interval[]): ReadonlyMap<number, readonly Interval[]> {
  const segments = new Map<number, Interval[]>();
  for (const segment of path) {
    const runSegments = segments.get(segment.run);
    if (runSegments === undefined) {
      segments.set(segment.run, [segment]);
    } else {
      runSegments.push(segment);
    }
  }
  return segments;
}

function computeFacts(model: TraceModel, now: number): TraceFacts {
  const selfTimes = computeSelfTimes(model, now);
  return {
    selfTimes,
    slowest: findSlowest(selfTimes, countSlowestRuns(model.count)),
    errors: findFailedRuns(model),
    usage: sumSubtrees(model),
  };
}

/** Computes a value after the browser has painted the rows, so that a long computation does not delay them. */
function useDeferred<Value>(
  model: TraceModel,
  now: number,
  compute: (model: TraceModel, now: number) => Value,
): Value | undefined {
  const [value, setValue] = useState<Value>();
  useEffect(() => {
    const timer = setTimeout(() => setValue(compute(model, now)), 0);
    return () => clearTimeout(timer);
  }, [model, now, compute]);
  return value;
}

/**
 * Finds the runs that match the search. Matching names are found immediately, matching payloads when the server has
 * responded. The payloads of a shared trace are not searched.
 */
function useMatches(
  model: TraceModel,
  searchText: string,
  { traceId, isContentSearched }: { readonly traceId: string; readonly isContentSearched: boolean },
) {
  const [text] = useDebouncedValue(searchText, typingDelayMs);
  const { data: contentMatchIds, isFetching } = useQuery({
    ...createContentSearchQuery(traceId, text),
    enabled: isContentSearched && text.length >= minContentChars,
  });
  const matches = useMemo(() => {
    const nameMatches = searchRuns(model, searchText);
    if (contentMatchIds === undefined || text === "" || text !== searchText) {
      return nameMatches;
    }
    const allMatches = new Set(nameMatches);
    contentMatchIds.forEach((id) => {
      const run = model.indexById.get(id);
      if (run !== undefined) {
        allMatches.add(run);
      }
    });
    return [...allMatches].toSorted((a, b) => (model.ranks[a] ?? 0) - (model.ranks[b] ?? 0));
  }, [model, searchText, text, contentMatchIds]);
  return { matches, isSearching: isFetching && text.length >= minContentChars };
}

function parseZoom(zoom: string | undefined, fullRange: TimeWindow): TimeWindow {
  const [from = Number.NaN, to = Number.NaN] = (zoom ?? "").split("-").map(Number);
  return from < to && fullRange.from + to <= fullRange.to + 1
    ? { from: fullRange.from + from, to: fullRange.from + to }
    : fullRange;
}

/** Formats a window for the URL; `undefined` for the whole trace. */
export function formatZoom({ from, to }: TimeWindow, fullRange: TimeWindow): string | undefined {
  const [start, end] = [Math.floor(from - fullRange.from), Math.ceil(to - fullRange.from)];
  return start <= 0 && end >= fullRange.to - fullRange.from ? undefined : `${start}-${end}`;
}
