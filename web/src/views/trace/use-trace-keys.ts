import type { KeyboardEvent, RefObject } from "react";
import { pan, windowBetween, zoom } from "../../lib/time-scale.ts";
import type { TimeWindow } from "../../lib/time-scale.ts";
import { endOf } from "../../lib/trace-model.ts";
import type { TraceSearch } from "../../lib/trace-search.ts";
import type { TraceChange } from "./use-trace-place.ts";
import type { TraceView } from "./use-trace-view.ts";

interface TraceKeysProps {
  readonly view: TraceView;
  readonly search: TraceSearch;
  readonly selected: number;
  readonly searchRef: RefObject<HTMLInputElement | null>;
  readonly change: (change: TraceChange) => void;
  readonly onStep: (kind: "match" | "error" | "slow", by: 1 | -1) => void;
  readonly onWindow: (window: TimeWindow) => void;
}

/** The keys of a trace, as the keyboard map shows them. Arrows are the list's own. */
export const traceKeys: readonly (readonly [keys: string, does: string])[] = [
  ["↑ ↓", "the run before, the next run"],
  ["← →", "close or open what is below; from a closed run to the one above"],
  ["Page Up, Page Down, Home, End", "further up and down"],
  ["/", "search in the trace"],
  ["n, N", "the next and the last run that was searched for"],
  ["e, E", "the next and the last error"],
  ["s, S", "the next slowest run, and back"],
  ["p", "show the critical path"],
  ["x", "show errors only"],
  ["+, −, 0", "show less time, more, all"],
  ["[ ]", "move in time"],
  ["z", "show the time of the selected run"],
];

const step = 0.5;
/** How much of the time around a run shows with it. */
const margin = 0.05;

export function useTraceKeys(props: TraceKeysProps): (event: KeyboardEvent) => void {
  const { view, search, selected, searchRef, change, onStep, onWindow } = props;
  const { window, whole, model, now } = view;
  const toSelected = (): TimeWindow => {
    const [start, end] = [model.starts[selected] ?? 0, endOf(model, selected, now)];
    const around = (end - start) * margin;
    return windowBetween(start - around, end + around, whole);
  };
  const zoomBy = (factor: number): void => onWindow(zoom(window, { factor, around: 0.5, whole }));
  const actions: Readonly<Record<string, () => void>> = {
    "/": () => searchRef.current?.focus(),
    n: () => onStep("match", 1),
    N: () => onStep("match", -1),
    e: () => onStep("error", 1),
    E: () => onStep("error", -1),
    s: () => onStep("slow", 1),
    S: () => onStep("slow", -1),
    p: () => change({ path: search.path === true ? undefined : true }),
    x: () => change({ errors: search.errors === true ? undefined : true }),
    "+": () => zoomBy(step),
    "=": () => zoomBy(step),
    "-": () => zoomBy(1 / step),
    "0": () => onWindow(whole),
    "[": () => onWindow(pan(window, -0.25, whole)),
    "]": () => onWindow(pan(window, 0.25, whole)),
    z: () => onWindow(toSelected()),
  };
  return (event) => {
    const isTyping =
      event.target instanceof Element &&
      event.target.closest("input, textarea, select, [contenteditable], .code-host") !== null;
    const action = actions[event.key];
    if (!isTyping && !event.ctrlKey && !event.metaKey && !event.altKey && action !== undefined) {
      event.preventDefault();
      action();
    }
  };
}
