import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { endpoints } from "millrace/model";
import { getJson, getText } from "../../api/http.ts";
import { toNumber } from "../../api/parse.ts";
import { toExampleParameters } from "../datasets/dataset-search.ts";
import type { SharedSearch } from "../datasets/dataset-search.ts";
import { parseSharedDataset } from "../datasets/dataset.ts";
import { parseExamples } from "../datasets/examples/example.ts";
import type { Example } from "../datasets/examples/example.ts";

const datasetPath: (typeof endpoints)["readSharedDataset"]["path"] = "/public/:token/datasets";
const examplesPath: (typeof endpoints)["listSharedExamples"]["path"] = "/public/:token/examples";
const countPath: (typeof endpoints)["countSharedExamples"]["path"] =
  "/public/:token/examples/count";

/** Whole examples: fewer at a time than of one's own, whose lists show beginnings. */
const pageSize = 50;

const fill = (path: string, token: string): string =>
  path.replace(":token", encodeURIComponent(token));

export const sharedDatasetQuery = (token: string) =>
  queryOptions({
    queryKey: ["shared-dataset", token],
    queryFn: async ({ signal }) =>
      parseSharedDataset(await getJson(fill(datasetPath, token), signal)),
  });

export const sharedExamplesQuery = (token: string, { q, split }: SharedSearch) =>
  infiniteQueryOptions({
    queryKey: ["shared-dataset", token, "examples", { q, split }],
    queryFn: async ({ pageParam, signal }) => {
      const parameters = toParameters({ q, split });
      parameters.set("limit", String(pageSize));
      parameters.set("offset", String(pageParam));
      const url = `${fill(examplesPath, token)}?${parameters.toString()}`;
      return parseExamples(await getText(url, signal));
    },
    initialPageParam: 0,
    getNextPageParam: (page: readonly Example[], pages) =>
      page.length < pageSize ? undefined : pages.length * pageSize,
    placeholderData: keepPreviousData,
  });

export const sharedCountQuery = (token: string, { q, split }: SharedSearch) =>
  queryOptions({
    queryKey: ["shared-dataset", token, "count", { q, split }],
    queryFn: async ({ signal }) => {
      const parameters = toParameters({ q, split });
      const url = `${fill(countPath, token)}?${parameters.toString()}`;
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
