import { useEffect, useMemo, useRef } from "react";
import type { RefObject } from "react";
import { useActions } from "../../components/keyboard/commands.ts";
import type { Command } from "../../components/keyboard/commands.ts";
import { pan, windowBetween, zoom } from "./time-scale.ts";
import type { TimeWindow } from "./time-scale.ts";
import { endOf } from "./trace-model.ts";
import type { TraceSearch } from "./trace-search.ts";
import type { TraceChange } from "./use-trace-address.ts";
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

type Act = (props: TraceKeysProps) => void;

const zoomBy =
  (factor: number): Act =>
  ({ view: { window, whole }, onWindow }) =>
    onWindow(zoom(window, { factor, around: 0.5, whole }));

const panBy =
  (share: number): Act =>
  ({ view: { window, whole }, onWindow }) =>
    onWindow(pan(window, share, whole));

const goToSearch: Act = ({ searchRef }) => {
  searchRef.current?.focus();
  // What was searched for stays until something else is typed.
  searchRef.current?.select();
};

/** How much of the time around a run shows with it. */
const margin = 0.05;

const showSelected: Act = ({ view: { model, whole, now }, selected, onWindow }) => {
  const [start, end] = [model.starts[selected] ?? 0, endOf(model, selected, now)];
  const around = (end - start) * margin;
  onWindow(windowBetween(start - around, end + around, whole));
};

const table: readonly (readonly [keys: string, label: string, act: Act])[] = [
  ["/", "Search in the trace", goToSearch],
  ["n", "Next run that was searched for", ({ onStep }) => onStep("match", 1)],
  ["b", "Previous run that was searched for", ({ onStep }) => onStep("match", -1)],
  ["e", "Next error", ({ onStep }) => onStep("error", 1)],
  ["w", "Previous error", ({ onStep }) => onStep("error", -1)],
  ["s", "Next slowest run", ({ onStep }) => onStep("slow", 1)],
  ["a", "Back among the slowest runs", ({ onStep }) => onStep("slow", -1)],
  [
    "p",
    "Show or hide the critical path",
    ({ search, change }) => change({ path: search.path === true ? undefined : true }),
  ],
  [
    "x",
    "Show errors only, or all",
    ({ search, change }) => change({ errors: search.errors === true ? undefined : true }),
  ],
  ["+", "Show less time", zoomBy(0.5)],
  ["-", "Show more time", zoomBy(2)],
  ["0", "Show all of the time", ({ view: { whole }, onWindow }) => onWindow(whole)],
  ["[", "Earlier", panBy(-0.25)],
  ["]", "Later", panBy(0.25)],
  ["z", "Show the time of the selected run", showSelected],
];

/** The tree handles these keys itself while it has the focus. */
const ofTree: readonly Command[] = [
  { id: "trace fold", group: "This page", label: "Close or open the run", keys: "← →" },
];

/** The keys of a trace, on the keyboard map and in the palette while it is open. */
export function useTraceKeys(props: TraceKeysProps): void {
  const latest = useRef(props);
  useEffect(() => {
    latest.current = props;
  });
  useActions(
    useMemo(
      () => [
        ...ofTree,
        ...table.map(([keys, label, act]) => ({
          id: `trace ${keys}`,
          label,
          group: "This page",
          keys,
          run: () => act(latest.current),
        })),
      ],
      [],
    ),
  );
}
