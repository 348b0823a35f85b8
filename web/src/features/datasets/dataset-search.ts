import { parseSortSearch } from "../../components/table/sort-search.ts";
import { isId, parseChoice, omitUndefined, toRecord, toSearchText } from "../../api/parse.ts";
import type { JsonMembers } from "../../api/parse.ts";

/** The columns by which the server can sort datasets. */
export const datasetSortColumns = [
  "name",
  "example_count",
  "session_count",
  "modified_at",
  "created_at",
  "last_session_start_time",
] as const;

export type DatasetSortColumn = (typeof datasetSortColumns)[number];

/** Search parameters in the URL of the dataset list. */
export interface DatasetsSearch {
  /** Text that the name must contain. */
  readonly q?: string;
  /** @defaultValue "modified_at" */
  readonly sort?: DatasetSortColumn;
  /** @defaultValue "desc" */
  readonly order?: "asc" | "desc";
}

export const parseDatasetsSearch = (search: JsonMembers): DatasetsSearch =>
  omitUndefined({
    q: toSearchText(search["q"]),
    sort: parseChoice(search["sort"], datasetSortColumns),
    order: parseChoice(search["order"], ["asc", "desc"] as const),
  });

export const datasetTabs = ["examples", "experiments", "versions", "comparisons"] as const;

export type DatasetTab = (typeof datasetTabs)[number];

export const exampleOrders = ["recent", "recently_created"] as const;

export const diffKinds = ["removed", "modified", "added"] as const;

export type DiffKind = (typeof diffKinds)[number];

/** Conditions that an example must meet to be listed. */
export interface ExampleFilter {
  /** Text that the inputs or outputs must contain. */
  readonly q?: string;
  readonly split?: string;
  /** A JSON object, as text. The example's metadata must contain all its entries. */
  readonly metadata?: string;
  /** The dataset version, by tag or timestamp. @defaultValue the newest version */
  readonly asOf?: string;
}

/** Search parameters in the URL of a dataset. */
export interface DatasetSearch extends ExampleFilter {
  /** @defaultValue "examples" */
  readonly tab?: DatasetTab;
  /** Sorts by the time of the last change (`recent`) or of creation. @defaultValue "recent" */
  readonly by?: (typeof exampleOrders)[number];
  /** The id of the column by which experiments are sorted. @defaultValue the start time */
  readonly sort?: string;
  /** @defaultValue "desc" */
  readonly order?: "asc" | "desc";
  /** Id of the open example. */
  readonly example?: string;
  /** The earlier of the two versions to compare, by tag or timestamp. */
  readonly from?: string;
  /** The later of the two versions to compare, by tag or timestamp. */
  readonly to?: string;
  /** If it is set, only differences of this kind are shown. */
  readonly kind?: DiffKind;
}

export const parseDatasetSearch = (search: JsonMembers): DatasetSearch =>
  omitUndefined({
    tab: parseChoice(search["tab"], datasetTabs),
    q: toSearchText(search["q"]),
    split: toSearchText(search["split"]),
    metadata: toMetadataFilter(search["metadata"]),
    asOf: toSearchText(search["asOf"]),
    by: parseChoice(search["by"], exampleOrders),
    sort: parseSortSearch(search).sort,
    order: parseChoice(search["order"], ["asc", "desc"] as const),
    example: isId(search["example"]) ? search["example"] : undefined,
    from: toSearchText(search["from"]),
    to: toSearchText(search["to"]),
    kind: parseChoice(search["kind"], diffKinds),
  });

/** Search parameters in the URL of a shared dataset. */
export interface SharedSearch extends Pick<ExampleFilter, "q" | "split"> {
  readonly example?: string;
}

export const parseSharedSearch = (search: JsonMembers): SharedSearch => {
  const { q, split, example } = parseDatasetSearch(search);
  return omitUndefined({ q, split, example });
};

/** Parses a metadata filter in the URL. The value may be an object, because the router parses JSON. */
function toMetadataFilter(value: unknown): string | undefined {
  const isObject = typeof value === "object" && value !== null;
  const json = isObject ? JSON.stringify(value) : toSearchText(value);
  return json !== undefined && isMetadataFilter(json) ? json : undefined;
}

/** Whether `json` is a JSON object with at least one entry, as a metadata filter must be. */
export function isMetadataFilter(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return Object.keys(toRecord(value)).length > 0;
  } catch {
    return false; // The user may still be typing the JSON.
  }
}

/** Converts the filter to the query parameters of the API. */
export function toExampleParameters(filter: ExampleFilter): URLSearchParams {
  const parameters = new URLSearchParams();
  const values = {
    full_text_contains: filter.q,
    splits: filter.split,
    metadata: filter.metadata,
    as_of: filter.asOf,
  };
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) {
      parameters.set(name, value);
    }
  }
  return parameters;
}
