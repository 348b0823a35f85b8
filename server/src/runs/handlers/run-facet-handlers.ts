import type { FastifyRequest } from "fastify";
import { toIso } from "../../http/wire-text.ts";
import { addFacetCounts } from "../facet-counts.ts";
import { facetNames } from "../run-list.ts";
import type { FacetCounts } from "../run-list.ts";
import type { RunStore } from "../run-store.ts";
import { parseSearch, searchWithin } from "./run-search-handlers.ts";
import type { RunSearchBody } from "./run-search-handlers.ts";

/** Milliseconds after which counting ends. The response then contains the start time reached. */
const countTimeLimitMs = 200;
/** Maximum number of runs that one step reads. It is low, because their payloads are in memory at the same time. */
const runsPerStep = 200;
/** Maximum number of values of each property in the response. Those with the most runs are returned. */
const maxReturnedValues = 10;

/**
 * `POST /ui/runs/facets`: counts the values of the matching runs by property, the latest runs first, for a limited time.
 * `counted_to` is the start time that was reached, or null if all runs were counted.
 */
export async function countRunFacets(
  store: RunStore,
  { body, tenantId }: FastifyRequest<{ Body: RunSearchBody }>,
): Promise<unknown> {
  const { cursor: _cursor, ...conditions } = body;
  const search = parseSearch({ ...conditions, sort: "start", order: "desc" });
  const slices: FacetCounts[] = [];
  let runCount = 0;
  const { nextPosition } = await searchWithin(
    { ...search, limit: Number.MAX_SAFE_INTEGER },
    countTimeLimitMs,
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
  const totals = addFacetCounts(slices);
  return {
    runs: runCount,
    counted_to: nextPosition === undefined ? null : toIso(nextPosition.micros),
    facets: facetNames.map((name) => ({
      name,
      value_count: totals[name].size,
      values: toTopValues(totals[name]),
    })),
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
