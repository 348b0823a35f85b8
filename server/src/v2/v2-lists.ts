import type { FastifyRequest } from "fastify";
import type { Project } from "../projects/project.ts";
import type { Store } from "../store/store.ts";
import { toDatasetJson } from "../datasets/dataset-json.ts";
import { parseDatasetQuery, parseOneOf } from "../datasets/dataset-query.ts";
import { parseProjectQuery } from "../projects/project-query.ts";
import { toProjectJson } from "../projects/project-json.ts";
import { addStats } from "../projects/project-stats.ts";
import { allValues, firstValue, parseBoolean } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import { parseOffset, parsePageSize, rejectUnsupportedParameters } from "./v2-page.ts";

const projectTypes = ["PROJECT", "AGENT", "EXPERIMENT"] as const;
const projectSorts = ["NAME", "START_TIME"] as const;

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: string | null;
}

/** `GET /api/v2/sessions`: lists projects and experiments, by default the latest first. */
export async function listV2Projects(
  store: Store,
  request: FastifyRequest,
): Promise<Page<unknown>> {
  const query = request.query as QueryString;
  rejectUnsupportedParameters(query, [
    "dataset_version",
    "filter",
    "include_facets",
    "stats_filter",
    "stats_start_time",
    "tag_value_id",
  ]);
  const types = allValues(query, "type")?.map((type) => parseOneOf(type, projectTypes, "type"));
  const sortBy = parseOneOf(firstValue(query, "sort_by") ?? "START_TIME", projectSorts, "sort_by");
  const { id, name, name_contains, metadata, reference_dataset_id: dataset } = query;
  const projectQuery = parseProjectQuery({
    id,
    name,
    name_contains,
    metadata,
    reference_dataset: dataset,
    reference_free: toReferenceFree(types),
    sort_by: sortBy.toLowerCase(),
    sort_by_desc: parseDescending(query),
  });
  // This server has no projects of type AGENT.
  const isEmpty = types !== undefined && types.every((type) => type === "AGENT");
  const { items, ...page } = await readPage<Project>(query, async (range) =>
    isEmpty ? [] : store.read.projects.list(request.tenantId, { ...projectQuery, ...range }),
  );
  const jsonItems =
    parseBoolean(query, "include_stats") === true
      ? (await addStats({ store, tenantId: request.tenantId }, items)).map(convertCosts)
      : items.map(toProjectJson);
  return {
    items: jsonItems.map((json, index) => ({
      ...json,
      type: items[index]?.referenceDatasetId === null ? "PROJECT" : "EXPERIMENT",
      trace_tier: null,
    })),
    ...page,
  };
}

/** `GET /api/v2/datasets`: lists datasets, by default those with the latest experiment first. */
export async function listV2Datasets(
  store: Store,
  request: FastifyRequest,
): Promise<Page<unknown>> {
  const query = request.query as QueryString;
  rejectUnsupportedParameters(query, ["tag_value_id"]);
  const excluded = allValues(query, "exclude")?.map((name) =>
    parseOneOf(name, ["example_count"], "exclude"),
  );
  const { id, name, name_contains, metadata, data_type, sort_by } = query;
  const datasetQuery = parseDatasetQuery({
    id,
    name,
    name_contains,
    metadata,
    data_type,
    sort_by,
    sort_by_desc: parseDescending(query),
  });
  const { items, ...page } = await readPage(query, (range) =>
    store.read.datasets.list(request.tenantId, { ...datasetQuery, ...range }),
  );
  const jsonItems = items.map(toDatasetJson);
  return {
    items:
      excluded === undefined
        ? jsonItems
        : jsonItems.map((json) => ({ ...json, example_count: null })),
    ...page,
  };
}

/** Reads a page and one more item, which shows whether another page follows. */
async function readPage<Item>(
  query: QueryString,
  read: (range: { readonly limit: number; readonly offset: number }) => Promise<readonly Item[]>,
): Promise<Page<Item>> {
  const [pageSize, offset] = [parsePageSize(query), parseOffset(firstValue(query, "cursor"))];
  const items = await read({ limit: pageSize + 1, offset });
  return {
    items: items.slice(0, pageSize),
    next_cursor: items.length > pageSize ? String(offset + pageSize) : null,
  };
}

const parseDescending = (query: QueryString): string =>
  String(
    parseOneOf(firstValue(query, "sort_order") ?? "desc", ["asc", "desc"], "sort_order") === "desc",
  );

/**
 * Converts types to the parameter `reference_free` of the first version of the API: `true` selects projects, `false`
 * experiments, `undefined` both.
 */
function toReferenceFree(types: readonly string[] | undefined): string | undefined {
  const [projects, experiments] = [types?.includes("PROJECT"), types?.includes("EXPERIMENT")];
  return projects === experiments ? undefined : String(projects);
}

/** Converts costs to numbers. In the first version of the API they are decimal strings. */
const convertCosts = (json: unknown): object =>
  Object.fromEntries(
    Object.entries(json as object).map(([name, value]): [string, unknown] => [
      name,
      name.endsWith("_cost") && typeof value === "string" ? Number(value) : value,
    ]),
  );
