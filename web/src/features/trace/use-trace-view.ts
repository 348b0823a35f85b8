import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { minContentChars, contentSearchQuery } from "./queries.ts";
import type { LoadedTrace } from "./queries.ts";
import { searchRuns } from "./search-runs.ts";
import { spanOf } from "./time-scale.ts";
import type { TimeWindow } from "./time-scale.ts";
import { toCriticalPath, toErrors, toSelfTimes, toSlowest } from "./trace-facts.ts";
import type { Interval } from "./trace-facts.ts";
import type { TraceModel } from "./trace-model.ts";
import { splitList } from "./trace-search.ts";
import type { TraceSearch } from "./trace-search.ts";
import { toVisibleRuns } from "./visible-runs.ts";
import type { VisibleRuns } from "./visible-runs.ts";

/** How many of the slowest runs are marked: one in five, ten at most. */
const slowestRuns = (count: number): number => Math.min(10, Math.ceil(count / 5));
/** The search waits this long after the last keystroke before it queries the server. */
const typingDelayMs = 150;

/** Statistics about where the time of a trace was spent. */
export interface TraceFacts {
  /** Microseconds, by run index. */
  readonly selfTimes: Float64Array;
  /** Indexes of the slowest runs, the slowest first. */
  readonly slowest: readonly number[];
  /** Indexes of the failed runs, in tree order. */
  readonly errors: readonly number[];
}

/** Everything that the UI shows of a trace, derived from the trace and the URL. */
export interface TraceView {
  readonly model: TraceModel;
  readonly visible: VisibleRuns;
  /** `undefined` until computed, which happens after the first paint. */
  readonly facts: TraceFacts | undefined;
  /** The segments of the critical path by run index; empty while the path is not shown. */
  readonly path: ReadonlyMap<number, readonly Interval[]>;
  /** Indexes of the runs that match the search, in tree order. */
  readonly matches: readonly number[];
  readonly isSearching: boolean;
  /** The time of the whole trace. */
  readonly fullRange: TimeWindow;
  /** The visible part of the whole time range. */
  readonly window: TimeWindow;
  /** The moment at which the bars of open runs end, in microseconds since the trace's base. */
  readonly now: number;
}

export function useTraceView(
  { model, readMs }: LoadedTrace,
  traceId: string,
  { search, closed }: { readonly search: TraceSearch; readonly closed: ReadonlySet<string> },
): TraceView {
  const { close, hide, errors, path: isPathShown, zoom, find = "" } = search;
  const now = readMs * 1_000 - model.baseMicros;
  const visible = useMemo(
    () =>
      toVisibleRuns(model, {
        closed,
        closedTypes: splitList(close),
        hiddenTypes: splitList(hide),
        errorsOnly: errors === true,
      }),
    [model, closed, close, hide, errors],
  );
  const fullRange = useMemo(() => spanOf(model, now), [model, now]);
  const window = useMemo(() => parseZoom(zoom, fullRange), [zoom, fullRange]);
  const facts = useDeferred(model, now, computeFacts);
  const path = useMemo(
    () => (isPathShown === true ? groupByRun(toCriticalPath(model, now)) : noPath),
    [model, now, isPathShown],
  );
  const { matches, isSearching } = useMatches(model, traceId, find);
  return { model, visible, facts, path, matches, isSearching, fullRange, window, now };
}

const noPath: ReadonlyMap<number, readonly Interval[]> = new Map();

function groupByRun(path: readonly Interval[]): ReadonlyMap<number, readonly Interval[]> {
  const segments = new Map<number, Interval[]>();
  for (const segment of path) {
    const ofRun = segments.get(segment.run);
    if (ofRun === undefined) {
      segments.set(segment.run, [segment]);
    } else {
      ofRun.push(segment);
    }
  }
  return segments;
}

function computeFacts(model: TraceModel, now: number): TraceFacts {
  const selfTimes = toSelfTimes(model, now);
  return {
    selfTimes,
    slowest: toSlowest(selfTimes, slowestRuns(model.count)),
    errors: toErrors(model),
  };
}

/** Computes a value in a separate task, after the rows are painted. */
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

/** Matches in names appear at once; matches in payloads when the server's search has finished. */
function useMatches(model: TraceModel, traceId: string, find: string) {
  const [text] = useDebouncedValue(find, typingDelayMs);
  const { data: ids, isFetching } = useQuery(contentSearchQuery(traceId, text));
  const matches = useMemo(() => {
    const nameMatches = searchRuns(model, find);
    if (ids === undefined || text === "" || text !== find) {
      return nameMatches;
    }
    const all = new Set(nameMatches);
    ids.forEach((id) => {
      const run = model.indexById.get(id);
      if (run !== undefined) {
        all.add(run);
      }
    });
    return [...all].toSorted((a, b) => (model.ranks[a] ?? 0) - (model.ranks[b] ?? 0));
  }, [model, find, text, ids]);
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
