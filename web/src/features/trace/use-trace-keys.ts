import { useEffect, useMemo, useRef } from "react";
import type { RefObject } from "react";
import { useCommands } from "../../components/keyboard/commands.ts";
import type { Command } from "../../components/keyboard/commands.ts";
import { pan, createWindow, zoom } from "./time-scale.ts";
import type { TimeWindow } from "./time-scale.ts";
import { computeEnd } from "./trace-model.ts";
import type { TraceSearch } from "./trace-search.ts";
import type { TraceChange } from "./use-trace-address.ts";
import type { TraceView } from "./use-trace-view.ts";

interface TraceKeysProps {
  readonly view: TraceView;
  readonly search: TraceSearch;
  readonly selectedRun: number;
  readonly searchRef: RefObject<HTMLInputElement | null>;
  readonly change: (change: TraceChange) => void;
  readonly onStep: (kind: "match" | "error" | "slow", by: 1 | -1) => void;
  readonly onWindow: (window: TimeWindow) => void;
}

type TraceAction = (props: TraceKeysProps) => void;

const createZoomAction =
  (factor: number): TraceAction =>
  ({ view: { window, fullRange }, onWindow }) =>
    onWindow(zoom(window, { factor, around: 0.5, fullRange }));

const createPanAction =
  (fraction: number): TraceAction =>
  ({ view: { window, fullRange }, onWindow }) =>
    onWindow(pan(window, fraction, fullRange));

const focusSearch: TraceAction = ({ searchRef }) => {
  searchRef.current?.focus();
  // Select the text, so that typing replaces the last search.
  searchRef.current?.select();
};

/** The margin on each side of the run after zooming to it, as a fraction of its duration. */
const marginFraction = 0.05;

const zoomToSelected: TraceAction = ({
  view: { model, fullRange, now },
  selectedRun,
  onWindow,
}) => {
  const [start, end] = [model.starts[selectedRun] ?? 0, computeEnd(model, selectedRun, now)];
  const marginMicros = (end - start) * marginFraction;
  onWindow(createWindow(start - marginMicros, end + marginMicros, fullRange));
};

const traceCommands: readonly (readonly [keys: string, label: string, action: TraceAction])[] = [
  ["/", "Search this trace", focusSearch],
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
  ["+", "Zoom in", createZoomAction(0.5)],
  ["-", "Zoom out", createZoomAction(2)],
  ["0", "Reset zoom", ({ view: { fullRange }, onWindow }) => onWindow(fullRange)],
  ["[", "Pan to earlier", createPanAction(-0.25)],
  ["]", "Pan to later", createPanAction(0.25)],
  ["z", "Zoom to the selected run", zoomToSelected],
];

/**
 * These commands have no handler: they only appear in the list of keyboard shortcuts. The tree itself handles the keys.
 */
const treeCommands: readonly Command[] = [
  { id: "trace fold", group: "This page", label: "Collapse or expand the run", keys: "← →" },
];

/**
 * Registers the keyboard shortcuts of a trace while it is open. The list of shortcuts and the command palette show
 * them.
 */
export function useTraceKeys(props: TraceKeysProps): void {
  const latestProps = useRef(props);
  useEffect(() => {
    latestProps.current = props;
  });
  useCommands(
    useMemo(
      () => [
        ...treeCommands,
        ...traceCommands.map(([keys, label, action]) => ({
          id: `trace ${keys}`,
          label,
          group: "This page",
          keys,
          run: () => action(latestProps.current),
        })),
      ],
      [],
    ),
  );
}
