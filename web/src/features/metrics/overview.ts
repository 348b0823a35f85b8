import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson } from "../../api/http.ts";
import { requireItems, requireText, toItems, toNumber, toRecord } from "../../api/parse.ts";
import { toPresetTimes } from "../../components/time/time-range.ts";
import { parseMetrics, parseValues } from "./metrics.ts";
import type { MetricValues, Metrics } from "./metrics.ts";
import type { OverviewRange } from "./overview-range.ts";

/** Metrics of a project's traces in a time range. */
export interface ProjectMetrics {
  /** Whether the traces are included in the metrics of all projects. */
  readonly isCounted: boolean;
  readonly total: MetricValues;
  /** The number of traces at each point of the range, and of the period before. */
  readonly runs: readonly number[];
  readonly previousRuns: readonly number[];
}

/** Metrics of the traces of all projects in a time range. */
export interface OverviewMetrics {
  readonly metrics: Metrics;
  /** Metrics by project id. Projects without traces in the range and in the period before are left out. */
  readonly projects: ReadonlyMap<string, ProjectMetrics>;
  /** Whether some projects are not included in the metrics, because reading all projects would take too long. */
  readonly isPartial: boolean;
}

const refetchIntervalMs = 10_000;
/** The milliseconds after which metrics are requested again while the server is still counting some time ranges. */
const incompleteRefetchMs = 3_000;

/**
 * Metrics of the traces of all projects in a range that ends now. The server and the SDK record the calls of the
 * playground and of judges in projects of their own. The metrics include these projects only if `countsOwnProjects` is
 * true.
 */
export const createOverviewQuery = (range: OverviewRange, countsOwnProjects = false) =>
  queryOptions({
    queryKey: ["overview", range, countsOwnProjects],
    queryFn: async ({ signal }) => {
      const { fromMs, toMs } = toPresetTimes(range, Date.now());
      const query = new URLSearchParams({
        from: new Date(fromMs).toISOString(),
        to: new Date(toMs).toISOString(),
        own_projects: String(countsOwnProjects),
      });
      return parseOverview(await getJson(`${toEndpointPath("/ui/overview")}?${query}`, signal));
    },
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && data.metrics.missing.length > 0
        ? incompleteRefetchMs
        : refetchIntervalMs,
    placeholderData: keepPreviousData,
  });

const toCounts = (value: unknown): readonly number[] =>
  toItems(value).map((count) => toNumber(count) ?? 0);

/** @throws TypeError the response does not contain metrics of projects. */
export function parseOverview(value: unknown): OverviewMetrics {
  const response = toRecord(value);
  return {
    metrics: parseMetrics({ ...response, groups: [] }),
    projects: new Map(
      requireItems(response["projects"], "projects").map((item) => {
        const project = toRecord(item);
        return [
          requireText(project, "id"),
          {
            isCounted: project["is_counted"] !== false,
            total: parseValues(project["total"]),
            runs: toCounts(project["runs"]),
            previousRuns: toCounts(project["previous_runs"]),
          },
        ];
      }),
    ),
    isPartial: response["is_partial"] === true,
  };
}
