import { minuteMicros, hourMicros } from "../model/durations.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { uiEndpoints } from "millrace/model";
import { RequestError } from "../model/errors.ts";
import { runFields } from "../filter/fields.ts";
import { readFilter } from "../filter/filter-parameter.ts";
import { firstValue, parseId, parseRequiredTime } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import type { RequestScoped } from "../http/request-scope.ts";
import { route } from "../http/route.ts";
import { toIso } from "../http/wire-text.ts";
import type { Promised } from "../storage/promised.ts";
import { dimensions, scopes } from "./metrics.ts";
import type {
  MetricGroup,
  MetricQuery,
  MetricReads,
  MetricValues,
  Metrics,
  MicrosRange,
  Percentiles,
} from "./metrics.ts";

/** The part of the store that the handler of metrics uses. */
export interface MetricStore extends RequestScoped<MetricStore> {
  readonly read: Promised<{ readonly metrics: MetricReads }>;
}

/** Widths of a point. A query uses the first width with which its range has no more than {@link maxPoints} points. */
const pointWidths = [1, 5, 15, 30, 60, 180, 360, 1_440, 10_080].map(
  (minutes) => minutes * minuteMicros,
);

const maxPoints = 96;

/** Maximum range of a query. */
const maxRangeMicros = 366 * 24 * hourMicros;

/** Milliseconds for reading runs that are not in the stored metrics, and for reading runs that match a filter. */
const readMs = 250;
const filterMs = 2_000;

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
}

async function readMetrics(store: MetricStore, request: FastifyRequest): Promise<unknown> {
  const query = parseMetricQuery(request.query as QueryString);
  return toJson(query, await store.read.metrics.read(request.tenantId, query));
}

function parseMetricQuery(query: QueryString): MetricQuery {
  const fromMicros = parseRequiredTime(query, "from");
  const toMicros = parseRequiredTime(query, "to");
  if (toMicros <= fromMicros || toMicros - fromMicros > maxRangeMicros) {
    throw new RequestError(422, "to must be after from, by at most 366 days");
  }
  const filter = readFilter(runFields, "filter", firstValue(query, "filter"));
  const widthMicros =
    pointWidths.find((width) => (toMicros - fromMicros) / width <= maxPoints) ??
    pointWidths.at(-1) ??
    minuteMicros;
  return {
    projectId: parseId(firstValue(query, "session"), "session"),
    scope: parseChoice(query, "scope", scopes) ?? "traces",
    groupBy: parseChoice(query, "group", dimensions),
    fromMicros: Math.floor(fromMicros / widthMicros) * widthMicros,
    toMicros: Math.ceil(toMicros / widthMicros) * widthMicros,
    widthMicros,
    withinMs: filter === undefined ? readMs : filterMs,
    ...(filter === undefined ? {} : { filter: { runFilters: [filter] } }),
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
  const found = choices.find((choice) => choice === text);
  if (found === undefined) {
    throw new RequestError(422, `${name} must be one of ${choices.join(", ")}`);
  }
  return found;
}

const toJson = (query: MetricQuery, { all, groups, missing }: Metrics) => ({
  from: toIso(query.fromMicros),
  to: toIso(query.toMicros),
  width_ms: query.widthMicros / 1_000,
  all: {
    total: toValuesJson(all.total),
    previous: toValuesJson(all.previous),
    points: toPointsJson(all.points),
    previous_points: toPointsJson(all.previousPoints),
  },
  groups: groups.map(({ kind, value, total, previous, points }: MetricGroup) => ({
    kind,
    value,
    total: toValuesJson(total),
    previous: toValuesJson(previous),
    points: toPointsJson(points),
  })),
  missing: missing.map(({ fromMicros, toMicros }: MicrosRange) => ({
    from: toIso(fromMicros),
    to: toIso(toMicros),
  })),
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

const microsToMs = (micros: number | null): number | null => (micros === null ? null : micros / 1_000);

/** A list for each number, which takes less space than an object for each point. */
const toPointsJson = (points: readonly MetricValues[]) => ({
  runs: points.map(({ runs }) => runs),
  errors: points.map(({ errors }) => errors),
  tokens: points.map(({ tokens }) => tokens),
  cost: points.map(({ cost }) => cost),
  latency_ms: toPercentileLists(points.map(({ latency }) => latency)),
  first_token_ms: toPercentileLists(points.map(({ firstToken }) => firstToken)),
});

const toPercentileLists = (percentiles: readonly Percentiles[]) => ({
  p50: percentiles.map(({ p50 }) => microsToMs(p50)),
  p95: percentiles.map(({ p95 }) => microsToMs(p95)),
  p99: percentiles.map(({ p99 }) => microsToMs(p99)),
});
