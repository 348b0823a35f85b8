import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { contentChars, contentSearchQuery } from "./queries.ts";
import type { KnownTrace } from "./queries.ts";
import { searchRuns } from "./search-runs.ts";
import { spanOf } from "./time-scale.ts";
import type { TimeWindow } from "./time-scale.ts";
import { toCriticalPath, toErrors, toSelfTimes, toSlowest } from "./trace-facts.ts";
import type { Interval } from "./trace-facts.ts";
import type { TraceModel } from "./trace-model.ts";
import { toWords } from "./trace-search.ts";
import type { TraceSearch } from "./trace-search.ts";
import { toVisibleRuns } from "./visible-runs.ts";
import type { VisibleRuns } from "./visible-runs.ts";

/** How many of the slowest runs are marked: one in five, ten at most. */
const slowestRuns = (count: number): number => Math.min(10, Math.ceil(count / 5));
const typingMs = 150;

/** Where the time of a trace went. */
export interface TraceFacts {
  readonly selfTimes: Float64Array;
  /** Places of the slowest runs, the slowest first. */
  readonly slowest: readonly number[];
  readonly errors: readonly number[];
}

/** All that the page shows of a trace, made of what is known of it and of the address. */
export interface TraceView {
  readonly model: TraceModel;
  readonly visible: VisibleRuns;
  readonly facts: TraceFacts | undefined;
  /** By place: the stretches of the critical path that are in a run; empty while it does not show. */
  readonly path: ReadonlyMap<number, readonly Interval[]>;
  /** Places of the runs that were searched for, in the order of the tree. */
  readonly matches: readonly number[];
  readonly isSearching: boolean;
  /** The whole of its time, and what of it shows. */
  readonly whole: TimeWindow;
  readonly window: TimeWindow;
  /** Where bars of open runs end. */
  readonly now: number;
}

export function useTraceView(
  { model, readMs }: KnownTrace,
  traceId: string,
  { search, closed }: { readonly search: TraceSearch; readonly closed: ReadonlySet<string> },
): TraceView {
  const { close, hide, errors, path: isPathShown, zoom, find = "" } = search;
  const now = readMs * 1_000 - model.baseMicros;
  const visible = useMemo(
    () =>
      toVisibleRuns(model, {
        closed,
        closedTypes: toWords(close),
        hiddenTypes: toWords(hide),
        errorsOnly: errors === true,
      }),
    [model, closed, close, hide, errors],
  );
  const whole = useMemo(() => spanOf(model, now), [model, now]);
  const window = useMemo(() => parseZoom(zoom, whole), [zoom, whole]);
  const facts = useLater(model, now, readFacts);
  const path = useMemo(
    () => (isPathShown === true ? byRun(toCriticalPath(model, now)) : noPath),
    [model, now, isPathShown],
  );
  const { matches, isSearching } = useMatches(model, traceId, find);
  return { model, visible, facts, path, matches, isSearching, whole, window, now };
}

const noPath: ReadonlyMap<number, readonly Interval[]> = new Map();

function byRun(path: readonly Interval[]): ReadonlyMap<number, readonly Interval[]> {
  const found = new Map<number, Interval[]>();
  for (const stretch of path) {
    const known = found.get(stretch.run);
    if (known === undefined) {
      found.set(stretch.run, [stretch]);
    } else {
      known.push(stretch);
    }
  }
  return found;
}

function readFacts(model: TraceModel, now: number): TraceFacts {
  const selfTimes = toSelfTimes(model, now);
  return {
    selfTimes,
    slowest: toSlowest(selfTimes, slowestRuns(model.count)),
    errors: toErrors(model),
  };
}

/** What can wait until the rows are painted, in a task of its own. */
function useLater<Value>(
  model: TraceModel,
  now: number,
  read: (model: TraceModel, now: number) => Value,
): Value | undefined {
  const [value, setValue] = useState<Value>();
  useEffect(() => {
    const timer = setTimeout(() => setValue(read(model, now)), 0);
    return () => clearTimeout(timer);
  }, [model, now, read]);
  return value;
}

/** Names at once, what runs hold when the server has looked. */
function useMatches(model: TraceModel, traceId: string, find: string) {
  const [text] = useDebouncedValue(find, typingMs);
  const { data: ids, isFetching } = useQuery(contentSearchQuery(traceId, text));
  const matches = useMemo(() => {
    const named = searchRuns(model, find);
    if (ids === undefined || text === "" || text !== find) {
      return named;
    }
    const all = new Set(named);
    ids.forEach((id) => {
      const run = model.indexById.get(id);
      if (run !== undefined) {
        all.add(run);
      }
    });
    return [...all].toSorted((a, b) => (model.ranks[a] ?? 0) - (model.ranks[b] ?? 0));
  }, [model, find, text, ids]);
  return { matches, isSearching: isFetching && text.length >= contentChars };
}

function parseZoom(zoom: string | undefined, whole: TimeWindow): TimeWindow {
  const [from = Number.NaN, to = Number.NaN] = (zoom ?? "").split("-").map(Number);
  return from < to && whole.from + to <= whole.to + 1
    ? { from: whole.from + from, to: whole.from + to }
    : whole;
}

/** A window as the address has it; `undefined`: all of it. */
export function formatZoom({ from, to }: TimeWindow, whole: TimeWindow): string | undefined {
  const [start, end] = [Math.floor(from - whole.from), Math.ceil(to - whole.from)];
  return start <= 0 && end >= whole.to - whole.from ? undefined : `${start}-${end}`;
}
