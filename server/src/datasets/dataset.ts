import type { AsOf, DatasetVersion, Moment } from "./dataset-version.ts";
import type { ExampleChange } from "./examples/example.ts";
import type { LongWrite } from "../storage/long-write.ts";
import type { ShareToken } from "../storage/share-token.ts";

type JsonObject = Readonly<Record<string, unknown>>;

export const dataTypes = ["kv", "llm", "chat"] as const;

/**
 * The form of the examples: `kv` has arbitrary members, `llm` one input string and one output string, `chat` messages.
 */
export type DataType = (typeof dataTypes)[number];

/** The fields of a dataset that a caller writes. */
export interface DatasetFields {
  readonly name: string;
  readonly description: string | null;
  readonly dataType: DataType;
  /** JSON schema that the inputs of every example match. */
  readonly inputsSchema: JsonObject | null;
  readonly outputsSchema: JsonObject | null;
  readonly extra: JsonObject | null;
  /** Stored and returned, but not applied. */
  readonly transformations: readonly unknown[] | null;
  readonly externallyManaged: boolean;
  readonly baselineExperimentId: string | null;
}

export interface Dataset extends DatasetFields {
  readonly id: string;
  readonly tenantId: string;
  readonly createdMicros: number;
  /** When the dataset or one of its examples was last written. */
  readonly modifiedMicros: number;
  /** Time of the newest version; `null` until an example is written. */
  readonly versionMicros: number | null;
  readonly exampleCount: number;
  /** Number of experiments on the dataset. */
  readonly sessionCount: number;
  readonly lastSessionMicros: number | null;
  readonly shareToken: ShareToken;
  readonly index: DatasetIndex | null;
}

/** The version that the search index covers. */
export interface DatasetIndex {
  readonly tag: string;
  /** Time of the indexed version; `null` if the index follows the newest version. */
  readonly micros: number | null;
}

export interface DatasetDraft extends DatasetFields {
  readonly id: string;
  readonly createdMicros: number;
}

/** Fields to update; those that are `undefined` keep their value. */
export interface DatasetChanges {
  readonly fields: Partial<DatasetFields>;
  /** Applied before the schemas are checked. */
  readonly examples: readonly ExampleChange[];
}

export interface DatasetDiff {
  readonly added: readonly string[];
  readonly modified: readonly string[];
  readonly removed: readonly string[];
}

/** Kinds of difference, in the order in which a diff lists them. */
export const differences = ["removed", "modified", "added"] as const;
export type Difference = (typeof differences)[number];

export interface DiffPageQuery {
  readonly from: Moment;
  readonly to: Moment;
  /** All kinds if omitted. */
  readonly kind?: Difference;
  readonly limit: number;
  readonly offset: number;
}

export interface DatasetDiffPage {
  readonly counts: Readonly<Record<Difference, number>>;
  readonly changes: readonly { readonly id: string; readonly kind: Difference }[];
}

export type DatasetOrder =
  | "name"
  | "created_at"
  | "last_session_start_time"
  | "example_count"
  | "session_count"
  | "modified_at";

export interface DatasetQuery {
  readonly ids?: readonly string[];
  readonly name?: string;
  readonly nameContains?: string;
  readonly dataTypes?: readonly string[];
  /** Entries that the metadata must contain. */
  readonly metadata?: JsonObject;
  readonly order: DatasetOrder;
  readonly isDescending: boolean;
  readonly limit: number;
  readonly offset: number;
}

export interface VersionQuery {
  /** Part of a tag. */
  readonly search?: string;
  /** Selects only versions that changed this example. */
  readonly exampleId?: string;
  readonly limit: number;
  readonly offset: number;
}

export interface DatasetReads {
  find(tenantId: string, id: string): Promise<Dataset | undefined>;
  list(tenantId: string, query: DatasetQuery): Promise<readonly Dataset[]>;
  /** Finds the dataset that is shared under the token. */
  findShared(token: string): Promise<Dataset | undefined>;
  /** Finds the version of a tag, or the newest version at or before a time, of a dataset of the tenant. */
  findVersion(tenantId: string, id: string, asOf: AsOf): Promise<DatasetVersion | undefined>;
  /** Lists the versions, the newest first. */
  listVersions(
    tenantId: string,
    id: string,
    query: VersionQuery,
  ): Promise<readonly DatasetVersion[]>;
  diff(tenantId: string, id: string, moments: { from: Moment; to: Moment }): Promise<DatasetDiff>;
  /** Returns the number of differences of each kind, and one page of them. */
  diffPage(tenantId: string, id: string, query: DiffPageQuery): Promise<DatasetDiffPage>;
}

/** The position at which building a search index continues. */
export interface IndexPosition {
  /** The last row that was indexed. */
  readonly after: number;
  /** The last row when indexing began. Writes index later rows themselves. */
  readonly lastKey: number;
}

export interface DatasetWrites {
  /** @throws RequestError 409: name or id is taken. 422: a schema is malformed. */
  create(tenantId: string, draft: DatasetDraft): Promise<Dataset>;
  /** @throws RequestError 404: no such dataset. 409: the name is taken. 422: examples do not match a schema. */
  update(tenantId: string, id: string, changes: DatasetChanges): Promise<Dataset>;
  /**
   * Hides the datasets at once and returns their ids; {@link DatasetWrites.sweep} erases their contents later.
   *
   * @throws RequestError 404: none of them exists.
   */
  deleteMany(tenantId: string, ids: readonly string[]): Promise<readonly string[]>;
  /**
   * Deletes a part of the contents of deleted datasets, so that other writes can run in between. Returns `false` when
   * nothing is left.
   */
  sweep(): Promise<boolean>;
  /**
   * Returns the share token; the same one when repeated.
   *
   * @throws RequestError 404: no such dataset.
   */
  share(tenantId: string, id: string): Promise<string>;
  /** @throws RequestError 404: no such dataset. */
  unshare(tenantId: string, id: string): Promise<void>;
  /**
   * Tags a version.
   *
   * @throws RequestError 404: no such dataset or version.
   */
  tag(tenantId: string, id: string, at: { asOf: AsOf; tag: string }): Promise<DatasetVersion>;
  /**
   * Begins to build the search index.
   *
   * @throws RequestError 404: no such dataset or version.
   */
  beginIndex(tenantId: string, id: string, tag: string): Promise<IndexPosition>;
  /** Indexes some rows; returns where to continue, or `undefined` at the end. */
  extendIndex(
    tenantId: string,
    id: string,
    from: IndexPosition,
  ): Promise<IndexPosition | undefined>;
}

/** A change of a dataset and of some of its examples. */
export interface DatasetUpdate {
  /** The dataset after the change. */
  readonly dataset: Dataset;
  readonly changes: readonly ExampleChange[];
  /** Whether all examples must be checked, because the schemas changed. */
  readonly mustCheck: boolean;
}

/** The examples of datasets, as an engine stores them. It may return its results at once or later. */
export interface DatasetExamples {
  updateDataset(tenantId: string, update: DatasetUpdate): LongWrite<Dataset>;
  /** Erases some examples of a dataset; returns whether none is left. */
  eraseSome(datasetId: string): boolean | Promise<boolean>;
}

/** The index of words that a search of examples uses. An engine may return its results at once or later. */
export interface ExampleTextIndex {
  /** Empties the index of a dataset and returns the key of the last row that has to be indexed. */
  begin(datasetId: string): number | Promise<number>;
  /** Indexes some rows; returns the key of the last one, or `undefined` at the end. */
  extend(
    datasetId: string,
    range: IndexPosition & { readonly moment: Moment; readonly limit: number },
  ): number | undefined | Promise<number | undefined>;
}
