import { memo } from "react";
import { splitMatches } from "../../components/text/split-matches.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatDuration } from "../../components/time/time.ts";
import { RunTypeBadge } from "../runs/run-badges.tsx";
import { toBar } from "./time-scale.ts";
import type { TimeWindow } from "./time-scale.ts";
import type { Interval } from "./trace-facts.ts";
import { endOf, isBackwards, statusOf } from "./trace-model.ts";
import type { TraceModel } from "./trace-model.ts";

export const rowHeight = 28;
const indent = 14;
/** Deeper runs are indented no further: their names would not be seen. */
const deepestIndent = 16;

export interface TraceRowProps {
  readonly model: TraceModel;
  readonly run: number;
  readonly depth: number;
  readonly start: number;
  readonly now: number;
  readonly window: TimeWindow;
  readonly isSelected: boolean;
  /** Absent where there is nothing below. */
  readonly isOpen: boolean | undefined;
  /** Its place among the slowest, from 1. */
  readonly slow: number | undefined;
  readonly path: readonly Interval[] | undefined;
  readonly isMatch: boolean;
  readonly find: string;
}

/** A run: its name where it stands in the tree, its bar where it lies in time. */
export const TraceRow = memo((props: TraceRowProps) => {
  const { model, run, depth, start, now, isSelected, isOpen, isMatch } = props;
  const id = model.ids[run] ?? "";
  const status = statusOf(model, run);
  const duration = endOf(model, run, now) - (model.starts[run] ?? 0);
  return (
    <div
      id={`run-${id}`}
      className="tree-row"
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isSelected}
      aria-expanded={isOpen}
      data-match={isMatch || undefined}
      data-run={id}
      style={{ height: rowHeight, transform: `translateY(${start}px)` }}
    >
      <span className="tree-name" style={{ paddingLeft: Math.min(depth, deepestIndent) * indent }}>
        <span className="tree-fold" data-fold data-open={isOpen} aria-hidden="true" />
        <RunTypeBadge type={model.types[run] ?? ""} />
        <Name {...props} />
        {status === "error" && <span className="error-mark">Error</span>}
        {props.slow !== undefined && (
          <span className="slow-mark" title={`Number ${props.slow} of the slowest, by own time`}>
            {props.slow}
            <span className="unseen"> of the slowest</span>
          </span>
        )}
      </span>
      <Bar {...props} />
      <span className="tree-time">
        {status === "pending" ? "running" : formatDuration(duration / 1_000)}
      </span>
    </div>
  );
});

const Name = ({ model, run, find, isMatch }: TraceRowProps) => {
  const name = toVisibleText(model.names[run] ?? "");
  return (
    <bdi className="name">
      {isMatch
        ? splitMatches(name, find.trim()).map((piece, index) =>
            piece.isMatch ? <mark key={index}>{piece.text}</mark> : piece.text,
          )
        : name}
    </bdi>
  );
};

const Bar = ({ model, run, now, window, path }: TraceRowProps) => {
  const start = model.starts[run] ?? 0;
  const bar = toBar(window, start, endOf(model, run, now));
  const status = statusOf(model, run);
  if (!bar.isIn) {
    const side = start >= window.to ? "right" : "left";
    return (
      <span className="tree-bar" aria-hidden="true">
        <span className="bar-away" data-side={side} />
      </span>
    );
  }
  return (
    <span className="tree-bar" aria-hidden="true">
      <span
        className="bar-fill"
        data-type={model.types[run]}
        data-status={status}
        data-backwards={isBackwards(model, run) || undefined}
        title={isBackwards(model, run) ? "Ended before it began: the clocks differed" : undefined}
        style={{ left: `${bar.left * 100}%`, width: `${bar.width * 100}%` }}
      />
      {path?.map(({ from, to }) => {
        const stretch = toBar(window, from, to);
        return stretch.isIn ? (
          <span
            key={from}
            className="bar-path"
            style={{ left: `${stretch.left * 100}%`, width: `${stretch.width * 100}%` }}
          />
        ) : null;
      })}
    </span>
  );
};
