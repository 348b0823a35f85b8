import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson } from "../../api/http.ts";
import { resolveScope, toDashboardTimes } from "./dashboard-search.ts";
import type { DashboardSearch } from "./dashboard-search.ts";
import { parseMetrics } from "../metrics/metrics.ts";

const refetchIntervalMs = 30_000;
/**
 * The milliseconds after which metrics without a filter are requested again while the server is still counting some
 * time ranges. With a filter, the server never counts the missing ranges.
 */
const incompleteRefetchMs = 3_000;

/** The metrics that the dashboard shows for its search parameters. */
export const createMetricsQuery = (projectId: string, search: DashboardSearch) =>
  queryOptions({
    queryKey: ["metrics", projectId, search],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({
        session: projectId,
        ...toDashboardTimes(search, Date.now()),
        scope: resolveScope(search),
        ...(search.group === undefined ? {} : { group: search.group }),
        ...(search.filter === undefined ? {} : { filter: search.filter }),
      });
      const path = toEndpointPath("/ui/metrics");
      return parseMetrics(await getJson(`${path}?${query.toString()}`, signal));
    },
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && data.missing.length > 0 && search.filter === undefined
        ? incompleteRefetchMs
        : refetchIntervalMs,
    placeholderData: keepPreviousData,
  });
