import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../../api/endpoint-path.ts";
import { getJson, getText, patchJson, postJson, putJson } from "../../../api/http.ts";
import {
  requireItems,
  requireText,
  parseChoice,
  toNumber,
  toRecord,
  toItems,
} from "../../../api/parse.ts";
import { diffKinds, toExampleParameters } from "../dataset-search.ts";
import type { DatasetSearch, DiffKind, ExampleFilter } from "../dataset-search.ts";
import { parseVersionAuthor } from "../version-author.ts";
import type { VersionAuthor } from "../version-author.ts";
import { parseExample, parsePreview, parsePreviews } from "./example.ts";
import type { ExamplePreview } from "./example.ts";

const examplesPath = toEndpointPath("/examples");
const deletePath = toEndpointPath("/v1/platform/datasets/examples/delete");

const pageSize = 200;
const diffPageSize = 100;

/** The examples that match a filter, with shortened payloads, in pages. */
export const createPreviewsQuery = (
  datasetId: string,
  filter: ExampleFilter & Pick<DatasetSearch, "by" | "order">,
) =>
  infiniteQueryOptions({
    queryKey: ["datasets", datasetId, "examples", filter],
    queryFn: async ({ pageParam, signal }) => {
      const parameters = toExampleParameters(filter);
      parameters.set("order", filter.by ?? "recent");
      parameters.set("descending", String(filter.order !== "asc"));
      parameters.set("limit", String(pageSize));
      parameters.set("offset", String(pageParam));
      const url = `${toEndpointPath("/ui/datasets/:id/examples", { id: datasetId })}?${parameters.toString()}`;
      return parsePreviews(await getJson(url, signal));
    },
    initialPageParam: 0,
    getNextPageParam: (page: readonly ExamplePreview[], pages) =>
      page.length < pageSize ? undefined : pages.length * pageSize,
    placeholderData: keepPreviousData,
  });

export const createCountQuery = (datasetId: string, filter: ExampleFilter) =>
  queryOptions({
    queryKey: ["datasets", datasetId, "count", filter],
    queryFn: async ({ signal }) => {
      const parameters = toExampleParameters(filter);
      parameters.set("dataset", datasetId);
      return toNumber(await getJson(`${examplesPath}/count?${parameters.toString()}`, signal)) ?? 0;
    },
    placeholderData: keepPreviousData,
  });

/** One complete example, as it was in the version `asOf`. Without `asOf`, as it is in the newest version. */
export const createExampleQuery = (datasetId: string, id: string, asOf: string | undefined) =>
  queryOptions({
    queryKey: ["datasets", datasetId, "example", id, asOf],
    queryFn: async ({ signal }) => {
      const parameters = new URLSearchParams({
        dataset: datasetId,
        ...(asOf === undefined ? {} : { as_of: asOf }),
      });
      const url = `${examplesPath}/${encodeURIComponent(id)}?${parameters.toString()}`;
      return parseExample(await getText(url, signal));
    },
  });

/**
 * How one example differs between two versions. An added example has no `before`, and a removed example has no `after`.
 */
export interface ExampleDifference {
  readonly id: string;
  readonly kind: DiffKind;
  readonly before: ExamplePreview | undefined;
  readonly after: ExamplePreview | undefined;
}

export interface DiffPage {
  /** The number of the later version. The first version of the dataset has the number 1. */
  readonly number: number | undefined;
  /** The authors of the later and of the earlier version; `undefined` if the author is not known. */
  readonly author: VersionAuthor | undefined;
  readonly fromAuthor: VersionAuthor | undefined;
  readonly counts: Readonly<Record<DiffKind, number>>;
  readonly changes: readonly ExampleDifference[];
}

/** The examples that differ between two versions, in pages. */
export const createDiffQuery = (
  datasetId: string,
  { from, to, kind }: { readonly from: string; readonly to: string; readonly kind?: DiffKind },
) =>
  infiniteQueryOptions({
    queryKey: ["datasets", datasetId, "diff", { from, to, kind }],
    queryFn: async ({ pageParam, signal }) => {
      const parameters = new URLSearchParams({
        from,
        to,
        limit: String(diffPageSize),
        offset: String(pageParam),
        ...(kind === undefined ? {} : { kind }),
      });
      const url = `${toEndpointPath("/ui/datasets/:id/diff", { id: datasetId })}?${parameters.toString()}`;
      return parseDiff(await getJson(url, signal));
    },
    initialPageParam: 0,
    getNextPageParam: ({ changes }: DiffPage, pages) =>
      changes.length < diffPageSize ? undefined : pages.length * diffPageSize,
    placeholderData: keepPreviousData,
  });

/** The changes between a version and the version before it. The first version is compared with an empty dataset. */
export const createVersionChangesQuery = (
  datasetId: string,
  version: string,
  previous: string | undefined,
) =>
  queryOptions({
    queryKey: ["datasets", datasetId, "version-changes", version],
    queryFn: async ({ signal }) => {
      const parameters = new URLSearchParams({
        ...(previous === undefined ? { from_empty: "true" } : { from: previous }),
        to: version,
        limit: "1",
      });
      const url = `${toEndpointPath("/ui/datasets/:id/diff", { id: datasetId })}?${parameters.toString()}`;
      return parseDiff(await getJson(url, signal));
    },
    // A version never changes.
    staleTime: Infinity,
  });

function parseDiff(value: unknown): DiffPage {
  const { counts, changes, number, author, from_author: fromAuthor } = toRecord(value);
  const { added, modified, removed } = toRecord(counts);
  return {
    number: toNumber(number),
    author: parseVersionAuthor(author),
    fromAuthor: parseVersionAuthor(fromAuthor),
    counts: {
      added: toNumber(added) ?? 0,
      modified: toNumber(modified) ?? 0,
      removed: toNumber(removed) ?? 0,
    },
    changes: requireItems(changes, "changes").map((item) => {
      const members = toRecord(item);
      return {
        id: requireText(members, "id"),
        kind: parseChoice(members["kind"], diffKinds) ?? "modified",
        before: toPreview(members["before"]),
        after: toPreview(members["after"]),
      };
    }),
  };
}

const toPreview = (value: unknown): ExamplePreview | undefined =>
  value === null ? undefined : parsePreview(value);

/** The values that an edit writes to an example. */
export interface ExampleChange {
  readonly inputs: unknown;
  /** `null` for an example without reference outputs. */
  readonly outputs: unknown;
  readonly metadata: unknown;
  readonly split: readonly string[];
}

export const updateExample = async (id: string, change: ExampleChange): Promise<unknown> =>
  patchJson(`${examplesPath}/${encodeURIComponent(id)}`, { ...change, overwrite: true });

export const createExample = async (datasetId: string, change: ExampleChange): Promise<string> =>
  requireText(toRecord(await postJson(examplesPath, { ...change, dataset_id: datasetId })), "id");

export const deleteExamples = async (ids: readonly string[]): Promise<unknown> =>
  postJson(deletePath, { example_ids: ids, hard_delete: false });

/** Adds examples to a split, or removes them from it. */
export const changeSplit = async (
  datasetId: string,
  change: { readonly name: string; readonly ids: readonly string[]; readonly remove: boolean },
): Promise<unknown> =>
  putJson(toEndpointPath("/datasets/:id/splits", { id: datasetId }), {
    split_name: change.name,
    examples: change.ids,
    remove: change.remove,
  });

const runsQueryPath = toEndpointPath("/runs/query");

/** The ids in the URL of a run's page. */
interface RunAddress {
  readonly traceId: string;
  readonly projectId: string;
}

/** Finds the trace and project of a run. Fails when the run does not exist. */
export const createRunAddressQuery = (id: string) =>
  queryOptions({
    queryKey: ["run", id, "address"],
    queryFn: async ({ signal }): Promise<RunAddress> => {
      const body = { id: [id], select: ["trace_id", "session_id"], limit: 1 };
      const { runs } = toRecord(await postJson(runsQueryPath, body, signal));
      const run = toRecord(toItems(runs)[0]);
      return { traceId: requireText(run, "trace_id"), projectId: requireText(run, "session_id") };
    },
    staleTime: Infinity,
    retry: false,
  });
