import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { deleteJson, getJson, patchJson, postJson, putJson } from "../../api/http.ts";
import { isId, toRecord, toText, toTexts } from "../../api/parse.ts";
import type { JsonMembers } from "../../api/parse.ts";
import type { DatasetsSearch } from "./dataset-search.ts";
import { parseDataset, parseDatasets, parseVersions } from "./dataset.ts";
import type { Dataset, DatasetVersion } from "./dataset.ts";

const datasetsPath = toEndpointPath("/datasets");
const listPageSize = 100;
const versionPageSize = 100;

const toDatasetPath = (id: string): string => toEndpointPath("/datasets/:id", { id });

/** The tenant's datasets, in pages. */
export const createDatasetsQuery = ({ q, sort = "modified_at", order = "desc" }: DatasetsSearch) =>
  infiniteQueryOptions({
    queryKey: ["datasets", "list", { q, sort, order }],
    queryFn: async ({ pageParam, signal }) => {
      const parameters = new URLSearchParams({
        sort_by: sort,
        sort_by_desc: String(order === "desc"),
        limit: String(listPageSize),
        offset: String(pageParam),
        ...(q === undefined ? {} : { name_contains: q }),
      });
      return parseDatasets(await getJson(`${datasetsPath}?${parameters.toString()}`, signal));
    },
    initialPageParam: 0,
    getNextPageParam: (page: readonly Dataset[], pages) =>
      page.length < listPageSize ? undefined : pages.length * listPageSize,
    placeholderData: keepPreviousData,
  });

export const createDatasetQuery = (id: string) =>
  queryOptions({
    queryKey: ["datasets", id],
    queryFn: async ({ signal }) => parseDataset(await getJson(toDatasetPath(id), signal)),
  });

/** The versions of a dataset, newest first, in pages. */
export const createVersionsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ["datasets", id, "versions"],
    queryFn: async ({ pageParam, signal }) =>
      parseVersions(
        await getJson(
          `${toEndpointPath("/datasets/:id/versions", { id })}?limit=${versionPageSize}&offset=${pageParam}`,
          signal,
        ),
      ),
    initialPageParam: 0,
    getNextPageParam: (page: readonly DatasetVersion[], pages) =>
      page.length < versionPageSize ? undefined : pages.length * versionPageSize,
  });

export const createSplitsQuery = (id: string, asOf: string | undefined) =>
  queryOptions({
    queryKey: ["datasets", id, "splits", asOf],
    queryFn: async ({ signal }) => {
      const query = asOf === undefined ? "" : `?as_of=${encodeURIComponent(asOf)}`;
      return toTexts(
        await getJson(`${toEndpointPath("/datasets/:id/splits", { id })}${query}`, signal),
      );
    },
  });

/** The token in a dataset's share link; `null` when the dataset is not shared. */
export const createShareQuery = (id: string) =>
  queryOptions({
    queryKey: ["datasets", id, "share"],
    queryFn: async ({ signal }) =>
      toToken(await getJson(toEndpointPath("/datasets/:id/share", { id }), signal)),
  });

export const shareDataset = async (id: string): Promise<string | null> =>
  toToken(await putJson(toEndpointPath("/datasets/:id/share", { id }), {}));

export const unshareDataset = async (id: string): Promise<unknown> =>
  deleteJson(toEndpointPath("/datasets/:id/share", { id }));

const toToken = (value: unknown): string | null => toText(toRecord(value)["share_token"]) ?? null;

/** The fields of a dataset that a user can edit. */
export interface DatasetFields {
  readonly name: string;
  readonly description: string;
  readonly metadata: JsonMembers | undefined;
  readonly inputsSchema: JsonMembers | null;
  readonly outputsSchema: JsonMembers | null;
}

const toBody = (fields: DatasetFields) => ({
  name: fields.name,
  description: fields.description,
  inputs_schema_definition: fields.inputsSchema,
  outputs_schema_definition: fields.outputsSchema,
});

/** @returns the id of the new dataset. */
export async function createDataset(fields: DatasetFields, dataType: string): Promise<string> {
  const { metadata } = fields;
  const created = await postJson(datasetsPath, {
    ...toBody(fields),
    data_type: dataType,
    ...(metadata === undefined ? {} : { extra: { metadata } }),
  });
  return parseDataset(created).id;
}

export const updateDataset = async (id: string, fields: DatasetFields): Promise<unknown> =>
  patchJson(toDatasetPath(id), { ...toBody(fields), metadata: fields.metadata ?? {} });

export const deleteDatasets = async (ids: Iterable<string>): Promise<unknown> => {
  const parameters = [...ids].filter(isId).map((id) => `dataset_ids=${id}`);
  return deleteJson(`${datasetsPath}?${parameters.join("&")}`);
};

export const tagVersion = async (id: string, asOf: string, tag: string): Promise<unknown> =>
  putJson(toEndpointPath("/datasets/:id/tags", { id }), { as_of: asOf, tag });
