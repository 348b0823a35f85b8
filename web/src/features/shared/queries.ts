import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson, getText } from "../../api/http.ts";
import { toNumber, toRecord } from "../../api/parse.ts";
import { toExampleParameters } from "../datasets/dataset-search.ts";
import type { SharedSearch } from "../datasets/dataset-search.ts";
import { parseSharedDataset } from "../datasets/dataset.ts";
import { parseExamples } from "../datasets/examples/example.ts";
import type { Example } from "../datasets/examples/example.ts";

/** Whether a share token gives access to one run or to a whole trace, and the id of that run or of the trace's root. */
export interface Share {
  readonly kind: "run" | "trace";
  readonly runId: string;
}

export const createShareQuery = (token: string) =>
  queryOptions({
    queryKey: ["share", token],
    queryFn: async ({ signal }): Promise<Share> => {
      const share = toRecord(await getJson(toEndpointPath("/ui/public/:token", { token }), signal));
      return { kind: share["kind"] === "trace" ? "trace" : "run", runId: String(share["run_id"]) };
    },
  });

/** This page size is smaller than that of a tenant's own datasets, because shared examples are sent in full. */
const pageSize = 50;

export const createSharedDatasetQuery = (token: string) =>
  queryOptions({
    queryKey: ["shared-dataset", token],
    queryFn: async ({ signal }) =>
      parseSharedDataset(
        await getJson(toEndpointPath("/public/:token/datasets", { token }), signal),
      ),
  });

export const createSharedExamplesQuery = (token: string, { q, split }: SharedSearch) =>
  infiniteQueryOptions({
    queryKey: ["shared-dataset", token, "examples", { q, split }],
    queryFn: async ({ pageParam, signal }) => {
      const parameters = toParameters({ q, split });
      parameters.set("limit", String(pageSize));
      parameters.set("offset", String(pageParam));
      const url = `${toEndpointPath("/public/:token/examples", { token })}?${parameters.toString()}`;
      return parseExamples(await getText(url, signal));
    },
    initialPageParam: 0,
    getNextPageParam: (page: readonly Example[], pages) =>
      page.length < pageSize ? undefined : pages.length * pageSize,
    placeholderData: keepPreviousData,
  });

export const createSharedExampleCountQuery = (token: string, { q, split }: SharedSearch) =>
  queryOptions({
    queryKey: ["shared-dataset", token, "count", { q, split }],
    queryFn: async ({ signal }) => {
      const parameters = toParameters({ q, split });
      const url = `${toEndpointPath("/public/:token/examples/count", { token })}?${parameters.toString()}`;
      return toNumber(await getJson(url, signal)) ?? 0;
    },
    placeholderData: keepPreviousData,
  });

const toParameters = ({
  q,
  split,
}: {
  readonly q: string | undefined;
  readonly split: string | undefined;
}): URLSearchParams =>
  toExampleParameters({
    ...(q === undefined ? {} : { q }),
    ...(split === undefined ? {} : { split }),
  });
