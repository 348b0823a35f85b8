import { isId, oneOf, omitUndefined, toRecord, toSearchText } from "../../api/parse.ts";
import type { Members } from "../../api/parse.ts";

export const datasetColumns = [
  "name",
  "example_count",
  "session_count",
  "modified_at",
  "created_at",
  "last_session_start_time",
] as const;

export type DatasetColumn = (typeof datasetColumns)[number];

/** The state of the list of datasets in the address. */
export interface DatasetsSearch {
  /** Part of a name. */
  readonly q?: string;
  /** @defaultValue "modified_at" */
  readonly sort?: DatasetColumn;
  /** @defaultValue "desc" */
  readonly order?: "asc" | "desc";
}

export const parseDatasetsSearch = (search: Members): DatasetsSearch =>
  omitUndefined({
    q: toSearchText(search["q"]),
    sort: oneOf(search["sort"], datasetColumns),
    order: oneOf(search["order"], ["asc", "desc"] as const),
  });

export const datasetTabs = ["examples", "experiments", "versions", "comparisons"] as const;

export type DatasetTab = (typeof datasetTabs)[number];

export const exampleOrders = ["recent", "recently_created"] as const;

export const diffKinds = ["removed", "modified", "added"] as const;

export type DiffKind = (typeof diffKinds)[number];

/** Which examples are shown. */
export interface ExampleFilter {
  /** A part of inputs or outputs. */
  readonly q?: string;
  readonly split?: string;
  /** A JSON object whose entries the metadata has. */
  readonly metadata?: string;
  /** A version: a tag, or a time. @defaultValue the newest */
  readonly asOf?: string;
}

/** What the address of a dataset selects. */
export interface DatasetSearch extends ExampleFilter {
  /** @defaultValue "examples" */
  readonly tab?: DatasetTab;
  /** @defaultValue "recent" */
  readonly by?: (typeof exampleOrders)[number];
  /** @defaultValue "desc" */
  readonly order?: "asc" | "desc";
  /** The example that is open. */
  readonly example?: string;
  /** The versions that are compared. */
  readonly from?: string;
  readonly to?: string;
  /** Of what differs only this. */
  readonly kind?: DiffKind;
}

export const parseDatasetSearch = (search: Members): DatasetSearch =>
  omitUndefined({
    tab: oneOf(search["tab"], datasetTabs),
    q: toSearchText(search["q"]),
    split: toSearchText(search["split"]),
    metadata: toMetadata(search["metadata"]),
    asOf: toSearchText(search["asOf"]),
    by: oneOf(search["by"], exampleOrders),
    order: oneOf(search["order"], ["asc", "desc"] as const),
    example: isId(search["example"]) ? search["example"] : undefined,
    from: toSearchText(search["from"]),
    to: toSearchText(search["to"]),
    kind: oneOf(search["kind"], diffKinds),
  });

/** What the address of a shared dataset selects. */
export interface SharedSearch extends Pick<ExampleFilter, "q" | "split"> {
  readonly example?: string;
}

export const parseSharedSearch = (search: Members): SharedSearch => {
  const { q, split, example } = parseDatasetSearch(search);
  return omitUndefined({ q, split, example });
};

/** The router reads a JSON object in the address as an object. */
function toMetadata(value: unknown): string | undefined {
  const isObject = typeof value === "object" && value !== null;
  const json = isObject ? JSON.stringify(value) : toSearchText(value);
  return json !== undefined && isMetadata(json) ? json : undefined;
}

/** Whether a text is a JSON object that metadata can be held against. */
export function isMetadata(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return Object.keys(toRecord(value)).length > 0;
  } catch {
    return false; // Still being typed.
  }
}

/** The filter as the server takes it. */
export function toExampleParameters(filter: ExampleFilter): URLSearchParams {
  const parameters = new URLSearchParams();
  const named = {
    full_text_contains: filter.q,
    splits: filter.split,
    metadata: filter.metadata,
    as_of: filter.asOf,
  };
  for (const [name, value] of Object.entries(named)) {
    if (value !== undefined) {
      parameters.set(name, value);
    }
  }
  return parameters;
}
