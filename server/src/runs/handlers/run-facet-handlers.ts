import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { toIso } from "../../http/wire-text.ts";
import { addFacetCounts } from "../facet-counts.ts";
import { facetNames } from "../run-list.ts";
import type { FacetCounts, RunSearch } from "../run-list.ts";
import type { RunStore } from "../run-store.ts";
import { parseSearch, runSearchBody, searchWithin } from "./run-search-handlers.ts";

/**
 * Default and maximum time in milliseconds after which counting ends. The response then contains the start time that
 * was reached.
 */
const defaultTimeLimitMs = 200;
const maxTimeLimitMs = 2_000;
/** Maximum number of runs that one step reads. It is low, because their payloads are in memory at the same time. */
const runsPerStep = 200;
/** Maximum number of values of each property in the response. Those with the most runs are returned. */
const maxReturnedValues = 10;

/**
 * Body of `POST /ui/runs/facets`: a search, and the properties (`facets`) that are counted with a filter of their own
 * in place of the filter of the search.
 */
export const runFacetBody = Type.Object({
  ...runSearchBody.properties,
  facets: Type.Optional(
    Type.Array(
      Type.Object({
        name: Type.Union(facetNames.map((name) => Type.Literal(name))),
        filter: runSearchBody.properties.filter,
      }),
      { maxItems: facetNames.length },
    ),
  ),
  time_limit_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: maxTimeLimitMs })),
});

export type RunFacetBody = Static<typeof runFacetBody>;

/**
 * `POST /ui/runs/facets`: counts the values of the matching runs by property, the latest runs first, for a limited time
 * (`time_limit_ms`). `counted_to` is the start time that was reached, or null if all runs were counted. A property in
 * `facets` is counted with its own filter, and has a `counted_to` of its own. All counts of a request share the time
 * limit.
 */
export async function countRunFacets(
  store: RunStore,
  { body, tenantId }: FastifyRequest<{ Body: RunFacetBody }>,
): Promise<unknown> {
  const {
    cursor: _cursor,
    facets: ownFacets = [],
    time_limit_ms: timeLimitMs = defaultTimeLimitMs,
    ...conditions
  } = body;
  const searches = [
    conditions,
    ...ownFacets.map(({ filter = null }) => ({ ...conditions, filter })),
  ].map((search) => parseSearch({ ...search, sort: "start", order: "desc" }));
  const endMs = performance.now() + timeLimitMs;
  const counts: FacetTotals[] = [];
  for (const [index, search] of searches.entries()) {
    // The remaining time is divided equally, so time that one count did not use is left for the counts after it.
    const limitMs = Math.max(0, endMs - performance.now()) / (searches.length - index);
    counts.push(await countValues(store, { tenantId, search, limitMs }));
  }
  const [totals, ...ownTotals] = counts;
  const totalsByName = new Map<string, FacetTotals | undefined>(
    ownFacets.map(({ name }, index) => [name, ownTotals[index]]),
  );
  return {
    runs: totals?.runCount ?? 0,
    counted_to: totals?.countedTo ?? null,
    facets: facetNames.map((name) => {
      const own = totalsByName.get(name);
      const values = (own ?? totals)?.counts[name] ?? new Map<string, number>();
      return {
        name,
        value_count: values.size,
        values: toTopValues(values),
        ...(own === undefined ? {} : { counted_to: own.countedTo }),
      };
    }),
  };
}

interface FacetTotals {
  readonly counts: FacetCounts;
  readonly runCount: number;
  /** The start time that was reached; `null` if all runs were counted. */
  readonly countedTo: string | null;
}

/** Counts the values of the runs of one search, the latest runs first, for a limited time. */
async function countValues(
  store: RunStore,
  {
    tenantId,
    search,
    limitMs,
  }: { readonly tenantId: string; readonly search: RunSearch; readonly limitMs: number },
): Promise<FacetTotals> {
  const slices: FacetCounts[] = [];
  let runCount = 0;
  const { nextPosition } = await searchWithin(
    { ...search, limit: Number.MAX_SAFE_INTEGER },
    limitMs,
    async (step) => {
      const stepSearch = { ...step, limit: runsPerStep };
      const slice = await store.read.runLists.countFacets(tenantId, stepSearch);
      slices.push(slice.counts);
      runCount += slice.runCount;
      return slice.nextPosition === undefined
        ? { runs: [] }
        : { runs: [], nextPosition: slice.nextPosition };
    },
  );
  return {
    counts: addFacetCounts(slices),
    runCount,
    countedTo: nextPosition === undefined ? null : toIso(nextPosition.micros),
  };
}

const toTopValues = (counts: ReadonlyMap<string, number>) =>
  [...counts]
    .toSorted(
      ([left, leftCount], [right, rightCount]) =>
        rightCount - leftCount || left.localeCompare(right, "en"),
    )
    .slice(0, maxReturnedValues)
    .map(([value, runs]) => ({ value, runs }));
