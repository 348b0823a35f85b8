import { minuteMicros, hourMicros } from "../model/durations.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { uiEndpoints } from "millrace/model";
import { RequestError } from "../model/errors.ts";
import { ownProjects } from "../model/own-projects.ts";
import { selectRunFields } from "../filter/fields.ts";
import { readFilter } from "../filter/filter-parameter.ts";
import { firstValue, parseId, parseRequiredTime } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import type { RequestScoped } from "../http/request-scope.ts";
import { route } from "../http/route.ts";
import { toIso } from "../http/wire-text.ts";
import type { Promised } from "../storage/promised.ts";
import { dimensions, scopes } from "./metrics.ts";
import type {
  CountValues,
  MetricGroup,
  MetricQuery,
  MetricReads,
  MetricValues,
  Metrics,
  MicrosRange,
  OverviewQuery,
  Percentiles,
} from "./metrics.ts";

/** The part of the store that the handler of metrics uses. */
export interface MetricStore extends RequestScoped<MetricStore> {
  readonly read: Promised<{ readonly metrics: MetricReads }>;
}

/**
 * Widths of the time intervals of a chart, its points, in microseconds. A query uses the smallest one that divides its
 * range into at most {@link maxPoints} points.
 */
const pointWidths = [1, 5, 15, 30, 60, 180, 360, 1_440, 10_080].map(
  (minutes) => minutes * minuteMicros,
);

const maxPoints = 96;

/** Maximum time range of a query, in microseconds. */
const maxRangeMicros = 366 * 24 * hourMicros;

/**
 * Time limits, in milliseconds, for reading runs that the stored metrics do not contain yet, and for reading runs that
 * match a filter.
 */
const readMs = 250;
const filterMs = 2_000;

/** Milliseconds after which the overview reads no more projects, and the maximum number of projects that it reads. */
const overviewMs = 2_000;
const maxOverviewProjects = 500;

/** Adds the route of the UI's dashboards. */
export function addUiMetricRoutes(app: FastifyInstance, store: MetricStore): void {
  app.route({
    ...route(uiEndpoints.readMetrics, {
      tag: "runs",
      summary: "Reads metrics of a project's runs over time, and of the period before.",
      query: {
        session: "The id of the project.",
        from: "The first start time.",
        to: "The end of the range.",
        group: "The property by which runs are grouped.",
        scope: "Which runs are counted; default traces.",
        filter: "A filter over runs. The runs are then read within a time limit.",
      },
    }),
    handler: (request) => readMetrics(store.forRequest(request), request),
  });
  app.route({
    ...route(uiEndpoints.readOverview, {
      tag: "runs",
      summary:
        "Reads metrics of all projects over time, without experiments, and of the period before.",
      query: {
        from: "The first start time.",
        to: "The end of the range.",
        scope: "Which runs are counted; default traces.",
        own_projects: `Whether the totals include the projects ${ownProjects.join(" and ")}, in which the server and the SDK record their own model calls; default false.`,
      },
    }),
    handler: (request) => readOverview(store.forRequest(request), request),
  });
}

async function readOverview(store: MetricStore, request: FastifyRequest): Promise<unknown> {
  const query = parseOverviewQuery(request.query as QueryString);
  const { all, projects, missing, isPartial } = await store.read.metrics.readOverview(
    request.tenantId,
    query,
  );
  return {
    ...toTimesJson(query),
    all: toAllJson(all),
    projects: projects.map(({ projectId, isCounted, total, runs, previousRuns }) => ({
      id: projectId,
      is_counted: isCounted,
      total: toValuesJson(total),
      runs,
      previous_runs: previousRuns,
    })),
    missing: missing.map(toRangeJson),
    is_partial: isPartial,
  };
}

async function readMetrics(store: MetricStore, request: FastifyRequest): Promise<unknown> {
  const query = parseMetricQuery(request.query as QueryString);
  return toJson(query, await store.read.metrics.read(request.tenantId, query));
}

function parseMetricQuery(query: QueryString): MetricQuery {
  const scope = parseChoice(query, "scope", scopes) ?? "traces";
  const filter = readFilter(
    selectRunFields(scope === "traces"),
    "filter",
    firstValue(query, "filter"),
  );
  return {
    projectId: parseId(firstValue(query, "session"), "session"),
    scope,
    groupBy: parseChoice(query, "group", dimensions),
    ...parsePoints(query),
    withinMs: filter === undefined ? readMs : filterMs,
    ...(filter === undefined ? {} : { filter: { runFilters: [filter] } }),
  };
}

const parseOverviewQuery = (query: QueryString): OverviewQuery => ({
  scope: parseChoice(query, "scope", scopes) ?? "traces",
  ...parsePoints(query),
  withinMs: readMs,
  maxMs: overviewMs,
  maxProjects: maxOverviewProjects,
  countsOwnProjects: parseChoice(query, "own_projects", ["true", "false"]) === "true",
});

/** Parses the range of a query, chooses the width of its points, and widens the range to whole points. */
function parsePoints(query: QueryString): MicrosRange & { readonly widthMicros: number } {
  const fromMicros = parseRequiredTime(query, "from");
  const toMicros = parseRequiredTime(query, "to");
  if (toMicros <= fromMicros || toMicros - fromMicros > maxRangeMicros) {
    throw new RequestError(422, "to must be after from, by at most 366 days");
  }
  const widthMicros =
    pointWidths.find((width) => (toMicros - fromMicros) / width <= maxPoints) ??
    pointWidths.at(-1) ??
    minuteMicros;
  return {
    fromMicros: Math.floor(fromMicros / widthMicros) * widthMicros,
    toMicros: Math.ceil(toMicros / widthMicros) * widthMicros,
    widthMicros,
  };
}

function parseChoice<Choice extends string>(
  query: QueryString,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const text = firstValue(query, name);
  if (text === undefined || text === "") {
    return undefined;
  }
  const match = choices.find((choice) => choice === text);
  if (match === undefined) {
    throw new RequestError(422, `${name} must be one of ${choices.join(", ")}`);
  }
  return match;
}

const toJson = (query: MetricQuery, { all, groups, missing }: Metrics) => ({
  ...toTimesJson(query),
  all: toAllJson(all),
  groups: groups.map(({ kind, value, total, previous, points, previousPoints }: MetricGroup) => ({
    kind,
    value,
    total: toValuesJson(total),
    previous: toValuesJson(previous),
    points: toPointsJson(points),
    previous_points: toCountsJson(previousPoints),
  })),
  missing: missing.map(toRangeJson),
});

const toTimesJson = ({
  widthMicros,
  ...range
}: MicrosRange & { readonly widthMicros: number }) => ({
  ...toRangeJson(range),
  width_ms: widthMicros / 1_000,
});

const toRangeJson = ({ fromMicros, toMicros }: MicrosRange) => ({
  from: toIso(fromMicros),
  to: toIso(toMicros),
});

const toAllJson = ({ total, previous, points, previousPoints }: Metrics["all"]) => ({
  total: toValuesJson(total),
  previous: toValuesJson(previous),
  points: toPointsJson(points),
  previous_points: toPointsJson(previousPoints),
});

const toValuesJson = ({ latency, firstToken, ...counts }: MetricValues) => ({
  ...counts,
  latency_ms: toMilliseconds(latency),
  first_token_ms: toMilliseconds(firstToken),
});

const toMilliseconds = ({ p50, p95, p99 }: Percentiles) => ({
  p50: microsToMs(p50),
  p95: microsToMs(p95),
  p99: microsToMs(p99),
});

const microsToMs = (micros: number | null): number | null =>
  micros === null ? null : micros / 1_000;

/** Returns one list per number, which takes less space than one object per point. */
const toPointsJson = (points: readonly MetricValues[]) => ({
  ...toCountsJson(points),
  latency_ms: toPercentileLists(points.map(({ latency }) => latency)),
  first_token_ms: toPercentileLists(points.map(({ firstToken }) => firstToken)),
});

const toCountsJson = (points: readonly CountValues[]) => ({
  runs: points.map(({ runs }) => runs),
  errors: points.map(({ errors }) => errors),
  tokens: points.map(({ tokens }) => tokens),
  cost: points.map(({ cost }) => cost),
});

const toPercentileLists = (percentiles: readonly Percentiles[]) => ({
  p50: percentiles.map(({ p50 }) => microsToMs(p50)),
  p95: percentiles.map(({ p95 }) => microsToMs(p95)),
  p99: percentiles.map(({ p99 }) => microsToMs(p99)),
});
