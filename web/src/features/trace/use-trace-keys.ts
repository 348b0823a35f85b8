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

type Action = (props: TraceKeysProps) => void;

const zoomBy =
  (factor: number): Action =>
  ({ view: { window, fullRange }, onWindow }) =>
    onWindow(zoom(window, { factor, around: 0.5, fullRange }));

const panBy =
  (share: number): Action =>
  ({ view: { window, fullRange }, onWindow }) =>
    onWindow(pan(window, share, fullRange));

const goToSearch: Action = ({ searchRef }) => {
  searchRef.current?.focus();
  // Selects the text instead of clearing it, so the last search stays until the user types another.
  searchRef.current?.select();
};

/** The margin shown on each side of a run, as a share of its duration. */
const margin = 0.05;

const zoomToSelected: Action = ({ view: { model, fullRange, now }, selected, onWindow }) => {
  const [start, end] = [model.starts[selected] ?? 0, endOf(model, selected, now)];
  const around = (end - start) * margin;
  onWindow(windowBetween(start - around, end + around, fullRange));
};

const table: readonly (readonly [keys: string, label: string, action: Action])[] = [
  ["/", "Search this trace", goToSearch],
  ["n", "Next match", ({ onStep }) => onStep("match", 1)],
  ["b", "Previous match", ({ onStep }) => onStep("match", -1)],
  ["e", "Next error", ({ onStep }) => onStep("error", 1)],
  ["w", "Previous error", ({ onStep }) => onStep("error", -1)],
  ["s", "Next slowest run", ({ onStep }) => onStep("slow", 1)],
  ["a", "Previous slowest run", ({ onStep }) => onStep("slow", -1)],
  [
    "p",
    "Toggle the critical path",
    ({ search, change }) => change({ path: search.path === true ? undefined : true }),
  ],
  [
    "x",
    "Toggle errors only",
    ({ search, change }) => change({ errors: search.errors === true ? undefined : true }),
  ],
  ["+", "Zoom in", zoomBy(0.5)],
  ["-", "Zoom out", zoomBy(2)],
  ["0", "Reset zoom", ({ view: { fullRange }, onWindow }) => onWindow(fullRange)],
  ["[", "Pan to earlier", panBy(-0.25)],
  ["]", "Pan to later", panBy(0.25)],
  ["z", "Zoom to the selected run", zoomToSelected],
];

/** Listed only for display: the tree handles these keys itself while it has the focus. */
const treeCommands: readonly Command[] = [
  { id: "trace fold", group: "This page", label: "Collapse or expand the run", keys: "← →" },
];

/** Registers the shortcuts of a trace, in the shortcut list and the command palette, while the trace is open. */
export function useTraceKeys(props: TraceKeysProps): void {
  const latest = useRef(props);
  useEffect(() => {
    latest.current = props;
  });
  useActions(
    useMemo(
      () => [
        ...treeCommands,
        ...table.map(([keys, label, action]) => ({
          id: `trace ${keys}`,
          label,
          group: "This page",
          keys,
          run: () => action(latest.current),
        })),
      ],
      [],
    ),
  );
}
