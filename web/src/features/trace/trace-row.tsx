import { memo } from "react";
import { formatCount } from "../../components/chart/chart-data.ts";
import { splitMatches } from "../../components/text/split-matches.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatDuration } from "../../components/time/time.ts";
import { RunTypeBadge, RunTypeIcon } from "../runs/run-badges.tsx";
import { toBar } from "./time-scale.ts";
import type { TimeWindow } from "./time-scale.ts";
import type { Interval } from "./trace-facts.ts";
import { computeEnd, isBackwards, readStatus } from "./trace-model.ts";
import type { TraceModel } from "./trace-model.ts";

export const rowHeight = 28;
const indentPixels = 14;
/** Runs below this depth are not indented further; otherwise their names would not fit into the column. */
const maxIndentLevels = 16;

export interface TraceRowProps {
  readonly model: TraceModel;
  readonly runIndex: number;
  readonly depth: number;
  readonly offsetTop: number;
  readonly now: number;
  readonly window: TimeWindow;
  readonly isSelected: boolean;
  /** `undefined` for a run without children. */
  readonly isExpanded: boolean | undefined;
  /** Rank among the slowest runs, from 1; `undefined` if the run is not one of them. */
  readonly slowRank: number | undefined;
  readonly criticalIntervals: readonly Interval[] | undefined;
  /** Tokens and cost of the model calls in the run's subtree; 0 if there are none. */
  readonly tokens: number;
  readonly cost: number;
  /** The format that the costs of all rows share. */
  readonly formatCost: (cost: number) => string;
  readonly commentCount: number;
  readonly isMatch: boolean;
  readonly searchText: string;
}

/** The row of a run: its name, indented by depth, and its bar on the time scale. */
export const TraceRow = memo((props: TraceRowProps) => {
  const { model, runIndex, depth, offsetTop, now, isSelected, isExpanded, isMatch } = props;
  const id = model.ids[runIndex] ?? "";
  const status = readStatus(model, runIndex);
  const durationMicros = computeEnd(model, runIndex, now) - (model.starts[runIndex] ?? 0);
  return (
    <div
      id={`run-${id}`}
      className="tree-row"
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isSelected}
      aria-expanded={isExpanded}
      data-match={isMatch || undefined}
      data-run={id}
      style={{ height: rowHeight, transform: `translateY(${offsetTop}px)` }}
    >
      <span
        className="tree-name"
        style={{ paddingLeft: Math.min(depth, maxIndentLevels) * indentPixels }}
      >
        <span className="tree-fold" data-fold data-open={isExpanded} aria-hidden="true" />
        {/* The style sheet shows only one of these two: the icon on narrow screens, else the name. */}
        <RunTypeBadge type={model.types[runIndex] ?? ""} />
        <RunTypeIcon type={model.types[runIndex] ?? ""} />
        <RunName {...props} />
        {isMatch && !hasNameMatch(props) && <span className="tag">in content</span>}
        {status === "error" && <span className="error-mark">Error</span>}
        {props.commentCount > 0 && (
          <span className="tree-comments" title={formatComments(props.commentCount)}>
            <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
              <path d="M2 3h12v8H7l-3 3v-3H2z" fill="none" stroke="currentColor" />
            </svg>
            {props.commentCount}
            <span className="unseen"> {props.commentCount === 1 ? "comment" : "comments"}</span>
          </span>
        )}
        {props.slowRank !== undefined && (
          <span className="slow-mark" title={`#${props.slowRank} slowest by self time`}>
            {props.slowRank}
            <span className="unseen"> (rank by self time)</span>
          </span>
        )}
      </span>
      <Bar {...props} />
      <span className="tree-time">
        {status === "pending" ? "running" : formatDuration(durationMicros / 1_000)}
      </span>
      <span className="tree-usage">
        {props.tokens > 0 && (
          <>
            {formatCount(props.tokens)}
            <span className="unseen"> tokens</span>
          </>
        )}
      </span>
      <span className="tree-usage">{props.cost > 0 && props.formatCost(props.cost)}</span>
    </div>
  );
});

const formatComments = (count: number): string => (count === 1 ? "1 comment" : `${count} comments`);

/** Whether the row shows the search text. Otherwise only the content of the run contains it. */
const hasNameMatch = ({ model, runIndex, searchText }: TraceRowProps): boolean => {
  const shownText = `${model.names[runIndex]} ${model.types[runIndex]} ${model.ids[runIndex]}`;
  return shownText.toLowerCase().includes(searchText.trim().toLowerCase());
};

const RunName = ({ model, runIndex, searchText, isMatch }: TraceRowProps) => {
  const name = toVisibleText(model.names[runIndex] ?? "");
  return (
    <bdi className="name">
      {isMatch
        ? splitMatches(name, searchText.trim()).map((segment, index) =>
            segment.isMatch ? <mark key={index}>{segment.text}</mark> : segment.text,
          )
        : name}
    </bdi>
  );
};

const Bar = ({ model, runIndex, now, window, criticalIntervals }: TraceRowProps) => {
  const start = model.starts[runIndex] ?? 0;
  const bar = toBar(window, start, computeEnd(model, runIndex, now));
  const status = readStatus(model, runIndex);
  if (!bar.isVisible) {
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
        data-type={model.types[runIndex]}
        data-status={status}
        data-backwards={isBackwards(model, runIndex) || undefined}
        title={isBackwards(model, runIndex) ? "End precedes start (clock skew)" : undefined}
        style={{ left: `${bar.left * 100}%`, width: `${bar.width * 100}%` }}
      />
      {criticalIntervals?.map(({ from, to }) => {
        const intervalBar = toBar(window, from, to);
        return intervalBar.isVisible ? (
          <span
            key={from}
            className="bar-path"
            style={{ left: `${intervalBar.left * 100}%`, width: `${intervalBar.width * 100}%` }}
          />
        ) : null;
      })}
    </span>
  );
};
