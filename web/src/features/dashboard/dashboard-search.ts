import { parseChoice, toSearchText } from "../../api/parse.ts";
import {
  parseTimeSelection,
  timePresets,
  toPresetTimes,
} from "../../components/time/time-range.ts";
import type { UrlTimes } from "../../components/time/time-range.ts";
import { percentiles } from "../metrics/metrics.ts";
import type { Percentile } from "../metrics/metrics.ts";

/** The properties by which runs can be grouped. */
export const groupings = ["model", "name", "tag", "user", "status"] as const;
export type Grouping = (typeof groupings)[number];

/** Which runs are counted. */
export const scopes = ["traces", "models", "all"] as const;
export type Scope = (typeof scopes)[number];

/**
 * The time range that is used if the URL has no range. If the URL has only the end of a range, the range has this
 * length.
 */
export const defaultRange = "1d";

/** Search parameters in the URL of the dashboard. A custom range without an end ends now. */
export interface DashboardSearch extends UrlTimes {
  readonly group?: Grouping;
  /** @defaultValue see {@link resolveScope} */
  readonly scope?: Scope;
  readonly filter?: string;
  /** The percentile of durations that charts with groups show. @defaultValue p95 */
  readonly percentile?: Percentile;
}

/**
 * Returns which runs are counted: those of the chosen scope, or traces if no scope was chosen. When grouping by model,
 * model calls are counted by default, because a trace rarely has a model itself.
 */
export const resolveScope = ({ scope, group }: Pick<DashboardSearch, "scope" | "group">): Scope =>
  scope ?? (group === "model" ? "models" : "traces");

/** Parses the search parameters of a URL. Leaves out invalid values. */
export function parseDashboardSearch(search: Readonly<Record<string, unknown>>): DashboardSearch {
  const group = parseChoice(search["group"], groupings);
  const scope = parseChoice(search["scope"], scopes);
  const filter = toSearchText(search["filter"]);
  const percentile = parseChoice(search["percentile"], percentiles);
  return {
    ...addMissingStart(parseTimeSelection(search)),
    ...(group === undefined ? {} : { group }),
    ...(scope === undefined ? {} : { scope }),
    ...(filter === undefined ? {} : { filter }),
    ...(percentile === undefined ? {} : { percentile }),
  };
}

/** Adds the start to a range that has only an end, because a dashboard can't count all runs before the end. */
const addMissingStart = (times: UrlTimes): UrlTimes =>
  times.to === undefined || times.from !== undefined
    ? times
    : {
        ...times,
        from: new Date(Date.parse(times.to) - timePresets[defaultRange].ms).toISOString(),
      };

/** Converts the range of the URL to times. */
export function toDashboardTimes(
  { last, from, to }: UrlTimes,
  nowMs: number,
): { readonly from: string; readonly to: string } {
  const preset = toPresetTimes(last ?? defaultRange, nowMs);
  return {
    from: from ?? new Date(preset.fromMs).toISOString(),
    to: to ?? new Date(preset.toMs).toISOString(),
  };
}
