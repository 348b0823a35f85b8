import { requireItems, requireText, toNumber, toRecord, toText } from "../../api/parse.ts";
import { formatCount } from "../../components/chart/chart-data.ts";
import { formatDollars } from "../../components/text/cost.ts";
import { formatDuration, formatTime, parseTimeMs } from "../../components/time/time.ts";
import { joinConditions, splitConditions } from "../../components/filter/filter-conditions.ts";
import { toGroupingCondition } from "../../components/filter/grouping-conditions.ts";
import { toPlainFilter } from "../../components/filter/plain-filter.ts";
import type { RunListSearch } from "../runs/run-list-search.ts";
import type { RunStatus } from "../runs/run.ts";

interface Metric {
  readonly label: string;
  /** The unit in which a threshold is entered. */
  readonly unit: string;
  /** The factor that converts a threshold from `unit` to the unit of the server, for example from seconds to ms. */
  readonly factor: number;
  readonly format: (value: number) => string;
}

const createDurationMetric = (label: string): Metric => ({
  label,
  unit: "s",
  factor: 1_000,
  format: formatDuration,
});

/** The metrics that an alert can watch, by their name on the server. */
export const figures = {
  error_rate: {
    label: "Error rate",
    unit: "%",
    factor: 0.01,
    format: (value: number) => `${Number((value * 100).toFixed(2))} %`,
  },
  runs: { label: "Runs", unit: "runs", factor: 1, format: formatCount },
  latency_p50: createDurationMetric("p50 latency"),
  latency_p95: createDurationMetric("p95 latency"),
  latency_p99: createDurationMetric("p99 latency"),
  first_token_p50: createDurationMetric("p50 first token"),
  first_token_p95: createDurationMetric("p95 first token"),
  first_token_p99: createDurationMetric("p99 first token"),
  tokens: { label: "Tokens", unit: "tokens", factor: 1, format: formatCount },
  cost: { label: "Cost", unit: "$", factor: 1, format: formatDollars },
  cost_per_run: { label: "Cost per run", unit: "$", factor: 1, format: formatDollars },
} as const satisfies Readonly<Record<string, Metric>>;

export type FigureName = keyof typeof figures;

export const figureNames = Object.keys(figures) as readonly FigureName[];

export const alertScopes = { traces: "Traces", models: "Model calls", all: "All runs" } as const;

export type AlertScope = keyof typeof alertScopes;

export const alertGroupings = {
  model: "Model",
  name: "Name",
  tag: "Tag",
  user: "User",
  status: "Status",
} as const;

export type AlertGrouping = keyof typeof alertGroupings;

/** The values of the property `status`. */
export const runStatuses: readonly RunStatus[] = ["success", "error", "pending"];

/** The lengths of the windows that the form offers, in minutes. */
export const alertWindows = [5, 15, 30, 60, 180, 360, 720, 1_440] as const;

export const formatWindow = (minutes: number): string =>
  minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`;

export const alertStateLabels = {
  ok: "OK",
  firing: "Firing",
  no_data: "No data",
} as const;

export type AlertState = keyof typeof alertStateLabels;

export interface Alert {
  readonly id: string;
  readonly name: string;
  readonly figure: FigureName;
  readonly scope: AlertScope;
  readonly group: { readonly by: AlertGrouping; readonly value: string } | undefined;
  /** The filter that the runs must match; `undefined` for none. */
  readonly filter: string | undefined;
  readonly windowMinutes: number;
  readonly direction: "above" | "below";
  readonly threshold: number;
  readonly webhookId: string | undefined;
  readonly isEnabled: boolean;
  readonly createdMs: number;
  readonly state: AlertState;
  readonly value: number | undefined;
  /**
   * When the alert was last evaluated; `undefined` if it has not been evaluated since it was created, or since the last
   * change of what it watches.
   */
  readonly evaluatedMs: number | undefined;
  /** When `state` last changed. */
  readonly changedMs: number | undefined;
  /** Why the last evaluation, or the notification of the webhook, failed. */
  readonly problem: string | undefined;
}

export interface AlertEvent {
  readonly atMs: number;
  readonly state: AlertState;
  readonly value: number | undefined;
}

const parseName = <Name extends string>(
  value: unknown,
  table: Readonly<Record<Name, unknown>>,
): Name | undefined => (Object.keys(table) as Name[]).find((name) => name === value);

/** @throws TypeError the value is not a list of alerts. */
export const parseAlerts = (value: unknown): readonly Alert[] =>
  requireItems(value, "alerts").map((item) => {
    const members = toRecord(item);
    const group = toRecord(members["group"]);
    const by = parseName(group["by"], alertGroupings);
    return {
      id: requireText(members, "id"),
      name: requireText(members, "name"),
      figure: parseName(members["figure"], figures) ?? "runs",
      scope: parseName(members["scope"], alertScopes) ?? "traces",
      group: by === undefined ? undefined : { by, value: toText(group["value"]) ?? "" },
      filter: toText(members["filter"]),
      windowMinutes: toNumber(members["window_minutes"]) ?? 5,
      direction: members["direction"] === "below" ? "below" : "above",
      threshold: toNumber(members["threshold"]) ?? 0,
      webhookId: toText(members["webhook_id"]),
      isEnabled: members["is_enabled"] === true,
      createdMs: parseTimeMs(members["created_at"]) ?? 0,
      state: parseName(members["state"], alertStateLabels) ?? "no_data",
      value: toNumber(members["value"]),
      evaluatedMs: parseTimeMs(members["evaluated_at"]),
      changedMs: parseTimeMs(members["changed_at"]),
      problem: toText(members["problem"]),
    };
  });

/** @throws TypeError the value is not a list of changes. */
export const parseAlertHistory = (value: unknown): readonly AlertEvent[] =>
  requireItems(value, "changes").map((item) => {
    const { at, state, value: metricValue } = toRecord(item);
    return {
      atMs: parseTimeMs(at) ?? 0,
      state: parseName(state, alertStateLabels) ?? "no_data",
      value: toNumber(metricValue),
    };
  });

/** Describes what an alert watches, such as `Error rate of traces above 5 % over 15 min`. */
export const describeAlert = ({
  figure,
  scope,
  group,
  filter,
  direction,
  threshold,
  windowMinutes,
}: Pick<
  Alert,
  "figure" | "scope" | "group" | "filter" | "direction" | "threshold" | "windowMinutes"
>): string => {
  const groupText =
    group === undefined ? "" : ` with ${alertGroupings[group.by].toLowerCase()} ${group.value}`;
  const filterText = filter === undefined ? "" : `, filtered by ${toPlainFilter(filter)},`;
  const { label, format } = figures[figure];
  return `${label} of ${alertScopes[scope].toLowerCase()}${groupText}${filterText} ${direction} ${format(threshold)} over ${formatWindow(windowMinutes)}`;
};

const minuteMs = 60_000;
/** The time between two evaluations of an alert by the server. */
const evaluationMs = minuteMs;

/** Describes when a new alert will be evaluated for the first time: `First evaluation by 10:31:20`. */
export function describeFirstEvaluation({ createdMs }: Alert, nowMs: number): string {
  const latestMs = createdMs + evaluationMs;
  return latestMs > nowMs
    ? `First evaluation by ${formatTime(latestMs).slice("2026-11-21 ".length, "2026-11-21 10:31:20".length)}`
    : "First evaluation within a minute";
}

/**
 * Returns the search parameters of the run list that shows the runs of the last evaluation of an alert; `undefined`
 * before the first evaluation.
 */
export function toAlertRuns(alert: Alert): RunListSearch | undefined {
  if (alert.evaluatedMs === undefined) {
    return undefined;
  }
  const endMs = Math.floor(alert.evaluatedMs / minuteMs) * minuteMs;
  const conditions = [
    ...splitConditions(alert.filter ?? ""),
    ...(alert.scope === "models" ? ['in(run_type, ["llm", "embedding"])'] : []),
    ...(alert.group === undefined
      ? []
      : [toGroupingCondition(alert.group.by, alert.group.value, alert.scope === "traces")]),
    ...(alert.figure === "error_rate" ? ['eq(status, "error")'] : []),
  ];
  const filter = joinConditions(conditions);
  return {
    ...(alert.scope === "traces" ? {} : { all: true }),
    from: new Date(endMs - alert.windowMinutes * minuteMs).toISOString(),
    // The run list includes the end of its time range, but the window of an alert does not.
    to: new Date(endMs - 1).toISOString(),
    ...(filter === "" ? {} : { filter }),
  };
}
