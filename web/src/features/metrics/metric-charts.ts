import { formatCount } from "../../components/chart/chart-data.ts";
import type { ChartSeries } from "../../components/chart/chart-data.ts";
import { formatDollars } from "../../components/text/cost.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatDuration } from "../../components/time/time.ts";
import { formatShare } from "../../api/live-report.ts";
import { computeErrorRate } from "./metrics.ts";
import type {
  CountPoints,
  MetricGroup,
  MetricPoints,
  Metrics,
  MetricValues,
  Percentile,
} from "./metrics.ts";

/** A chart with series of all runs, or with one series for each group of runs. */
export interface MetricChart {
  readonly label: string;
  readonly format: (value: number) => string;
  readonly series: readonly ChartSeries[];
  /** The group of each series; `undefined` for a series of all runs. */
  readonly groups: readonly (MetricGroup | undefined)[];
  /** Whether the chart counts only runs with an error. */
  readonly isError: boolean;
}

const groupColors = [
  "--type-retriever",
  "--type-llm",
  "--type-tool",
  "--type-embedding",
  "--type-prompt",
  "--type-parser",
  "--series-lime",
  "--ink",
];

/** The colors of statuses, which have the same meaning everywhere. */
const statusColors: Readonly<Record<string, string>> = {
  success: "--good",
  error: "--bad",
  pending: "--busy",
};

/** Returns the color of a group. If runs are grouped by status, each group has the color of its status. */
export const toGroupColor = (
  { kind, value }: Pick<MetricGroup, "kind" | "value">,
  index: number,
  grouping?: string,
): string => {
  const statusColor = grouping === "status" ? statusColors[value] : undefined;
  if (statusColor !== undefined) {
    return statusColor;
  }
  if (kind === "value") {
    return groupColors[index] ?? "--ink-2";
  }
  return kind === "none" ? "--type-chain" : "--ink-2";
};

export const toGroupLabel = ({ kind, value }: Pick<MetricGroup, "kind" | "value">): string => {
  if (kind === "value") {
    return toVisibleText(value.slice(0, 60));
  }
  return kind === "none" ? "None" : "Other";
};

type ReadPoints = (points: MetricPoints) => readonly (number | null)[];
type ReadTotal = (values: MetricValues) => number | undefined;

/**
 * Creates the charts, each of which also shows the previous period. Charts with groups have a series for each group,
 * and show one percentile of the durations.
 */
export function toCharts(
  metrics: Metrics,
  { grouping, percentile = "p95" }: { grouping?: string; percentile?: Percentile } = {},
): readonly MetricChart[] {
  const isGrouped = metrics.groups.length > 0;
  const createChart = (options: ChartOptions): MetricChart =>
    isGrouped
      ? createGroupChart(metrics, options, grouping)
      : createUngroupedChart(metrics, options);
  const createDurationChart = (label: string, read: ReadDurations): MetricChart =>
    isGrouped
      ? createGroupChart(
          metrics,
          {
            label: `${percentile} ${label.toLowerCase()}`,
            format: formatDuration,
            read: (points) => read(points)[percentile],
            readTotal: (values) => read(values)[percentile],
            kind: "line",
          },
          grouping,
        )
      : createPercentileChart(metrics, label, read);
  return [
    createChart({
      label: "Runs",
      format: formatCount,
      read: ({ runs }) => runs,
      readTotal: ({ runs }) => runs,
      kind: "stack",
    }),
    createChart({
      label: "Error rate",
      format: formatShare,
      read: readErrorRates,
      readTotal: computeErrorRate,
      kind: "line",
      isError: true,
    }),
    createDurationChart("Latency", ({ latency }) => latency),
    ...(hasFirstTokens(metrics)
      ? [createDurationChart("First token", ({ firstToken }) => firstToken)]
      : []),
    createChart({
      label: "Tokens",
      format: formatCount,
      read: ({ tokens }) => tokens,
      readTotal: ({ tokens }) => tokens,
      kind: "stack",
    }),
    createChart({
      label: "Cost",
      format: formatDollars,
      read: ({ cost }) => cost,
      readTotal: ({ cost }) => cost,
      kind: "stack",
    }),
  ];
}

/** Whether a time to the first token was measured. Only streamed runs, and traces that contain one, have this time. */
const hasFirstTokens = ({ total, previous }: Metrics): boolean =>
  total.firstToken.p50 !== undefined || previous.firstToken.p50 !== undefined;

/** Selects the latency or the time to the first token, from the points of a chart or from its totals. */
type ReadDurations = <Values extends Pick<MetricPoints | MetricValues, "latency" | "firstToken">>(
  values: Values,
) => Values["latency"];

const readErrorRates: ReadPoints = ({ runs, errors }) =>
  runs.map((count, index) => computeErrorRate({ runs: count, errors: errors[index] ?? 0 }) ?? null);

type ChartOptions = {
  readonly label: string;
  readonly format: (value: number) => string;
  readonly isError?: boolean;
} & (
  | {
      readonly kind: "stack";
      readonly read: (points: CountPoints) => readonly number[];
      readonly readTotal: (values: MetricValues) => number;
    }
  | { readonly kind: "line"; readonly read: ReadPoints; readonly readTotal: ReadTotal }
);

const createGroupChart = (
  metrics: Metrics,
  options: ChartOptions,
  grouping: string | undefined,
): MetricChart => ({
  label: options.label,
  format: options.format,
  isError: options.isError === true,
  series: [
    ...metrics.groups.map((group, index) => ({
      label: toGroupLabel(group),
      color: toGroupColor(group, index, grouping),
      kind: options.kind,
      values: options.read(group.points),
      total: options.readTotal(group.total),
    })),
    { ...previousSeries, ...readPrevious(metrics, options) },
  ],
  groups: [...metrics.groups, undefined],
});

/**
 * Returns what the groups of a chart are compared with. Stacked groups are compared with their sum in the previous
 * period, in which a run counts once for each of its tags, as in the stack. Lines are compared with the line of all
 * runs, because rates and percentiles can't be added up.
 */
function readPrevious(
  { groups, previous, previousPoints, starts }: Metrics,
  options: ChartOptions,
): Pick<ChartSeries, "label" | "values" | "total"> {
  if (options.kind === "line") {
    const { read, readTotal } = options;
    return {
      label: "Previous, all groups",
      values: read(previousPoints),
      total: readTotal(previous),
    };
  }
  const { read, readTotal } = options;
  const groupValues = groups.map((group) => read(group.previousPoints));
  return {
    label: previousSeries.label,
    values: starts.map((_start, index) => sum(groupValues.map((values) => values[index] ?? 0))),
    total: sum(groups.map((group) => readTotal(group.previous))),
  };
}

const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, number) => total + number, 0);

/** Properties of the series for the previous period. Charts draw it last, so that its line is over the bars. */
const previousSeries = { label: "Previous", color: "--ink-2", kind: "reference" } as const;

/**
 * Returns the difference, in milliseconds, between the time of a point in a chart and the start of the runs that a
 * series counts there. A chart draws the previous period over the current one, so the runs of its series began earlier
 * by the length of the time range. For any other series, returns 0.
 */
export const findPeriodShift = (
  { fromMs, toMs }: Pick<Metrics, "fromMs" | "toMs">,
  { series }: Pick<MetricChart, "series">,
  seriesIndex: number | undefined,
): number =>
  seriesIndex !== undefined && series[seriesIndex]?.kind === "reference" ? toMs - fromMs : 0;

const createUngroupedChart = (
  { points, previousPoints, total, previous }: Metrics,
  { label, format, read, readTotal, kind, isError = false }: ChartOptions,
): MetricChart => ({
  label,
  format,
  isError,
  series: [
    {
      label: "Current",
      color: isError ? "--bad" : "--accent",
      kind: kind === "stack" ? "bars" : "line",
      values: read(points),
      total: readTotal(total),
    },
    {
      ...previousSeries,
      values: read(previousPoints),
      total: readTotal(previous),
    },
  ],
  groups: [undefined, undefined],
});

const percentileColors = { p50: "--accent", p95: "--type-llm", p99: "--busy" } as const;

const createPercentileChart = (
  { points, previousPoints, total, previous }: Metrics,
  label: string,
  read: ReadDurations,
): MetricChart => ({
  label,
  format: formatDuration,
  isError: false,
  series: [
    ...(["p50", "p95", "p99"] as const).map((name): ChartSeries => ({
      label: name,
      color: percentileColors[name],
      values: read(points)[name],
      total: read(total)[name],
    })),
    {
      ...previousSeries,
      label: "Previous p50",
      values: read(previousPoints).p50,
      total: read(previous).p50,
    },
  ],
  groups: [undefined, undefined, undefined, undefined],
});
