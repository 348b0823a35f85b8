import type { AsOf, DatasetVersion, VersionTime } from "./dataset-version.ts";
import type { VersionAuthor } from "./version-author.ts";
import type { ExampleChange } from "./examples/example.ts";
import type { LongWrite } from "../storage/long-write.ts";
import type { ShareToken } from "../storage/share-token.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** The values of {@link DataType}. */
export const dataTypes = ["kv", "llm", "chat"] as const;

/**
 * What the examples of a dataset contain. `kv`: arbitrary members. `llm`: one input string and one output string.
 * `chat`: messages.
 */
export type DataType = (typeof dataTypes)[number];

/** The fields of a dataset that a caller writes. */
export interface DatasetFields {
  readonly name: string;
  readonly description: string | null;
  readonly dataType: DataType;
  /** JSON schema that the inputs of every example must match; `null` if there is none. */
  readonly inputsSchema: JsonObject | null;
  /** JSON schema that the outputs of every example must match; `null` if there is none. */
  readonly outputsSchema: JsonObject | null;
  readonly extra: JsonObject | null;
  /** Transformations of examples, which this server stores and returns but does not apply. */
  readonly transformations: readonly unknown[] | null;
  /** Stored and returned as the client sent it; has no effect in this server. */
  readonly externallyManaged: boolean;
  /** Id of the experiment that the other experiments on the dataset are compared with. */
  readonly baselineExperimentId: string | null;
}

/** A stored dataset. */
export interface Dataset extends DatasetFields {
  readonly id: string;
  readonly tenantId: string;
  readonly createdMicros: number;
  /** When the dataset or one of its examples was last written. */
  readonly modifiedMicros: number;
  /** Time of the newest version; `null` until an example is written. */
  readonly versionMicros: number | null;
  readonly exampleCount: number;
  readonly experimentCount: number;
  /** Start time of the newest experiment; `null` if the dataset has no experiments. */
  readonly lastExperimentStartMicros: number | null;
  readonly shareToken: ShareToken;
  /** `null` if the dataset can't be searched. */
  readonly index: DatasetIndex | null;
}

/** The search index of a dataset, which contains the examples of one version. */
export interface DatasetIndex {
  /** The tag of the indexed version. */
  readonly tag: string;
  /** Time of the indexed version; `null` if the index follows the newest version. */
  readonly micros: number | null;
}

/** A dataset that is to be created. */
export interface DatasetDraft extends DatasetFields {
  readonly id: string;
  readonly createdMicros: number;
}

/** Changes to a dataset and to some of its examples, which are made in one write. */
export interface DatasetChanges {
  /** The fields to update. A field that is absent keeps its value. */
  readonly fields: Partial<DatasetFields>;
  /** Changes to examples. If `fields` contains a new schema, the examples must match it after these changes. */
  readonly exampleChanges: readonly ExampleChange[];
}

/** The ids of the examples that differ between two versions, by kind of difference. */
export interface DatasetDiff {
  readonly added: readonly string[];
  readonly modified: readonly string[];
  readonly removed: readonly string[];
}

/** The kinds of differences between two versions, in the order in which a diff lists them. */
export const differenceKinds = ["removed", "modified", "added"] as const;
export type DifferenceKind = (typeof differenceKinds)[number];

/** Selects a page of the differences between two versions. */
export interface DiffPageQuery {
  readonly from: VersionTime;
  readonly to: VersionTime;
  /** Only differences of this kind; all kinds if omitted. */
  readonly kind?: DifferenceKind;
  readonly limit: number;
  readonly offset: number;
}

/** A page of the differences between two versions, with the number of all differences of each kind. */
export interface DatasetDiffPage {
  readonly countByKind: Readonly<Record<DifferenceKind, number>>;
  /** The ids of the examples on this page, each with the kind of its difference. */
  readonly changes: readonly { readonly id: string; readonly kind: DifferenceKind }[];
}

/** The properties by which a list of datasets can be sorted. */
export type DatasetOrder =
  | "name"
  | "created_at"
  | "last_session_start_time"
  | "example_count"
  | "session_count"
  | "modified_at";

/** Selects datasets. All conditions that are set must hold. */
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

/** Selects versions of a dataset. */
export interface VersionQuery {
  /** Selects only versions with a tag that contains this text. */
  readonly search?: string;
  /** Selects only versions that changed this example. */
  readonly exampleId?: string;
  readonly limit: number;
  readonly offset: number;
}

/** The reads of datasets and their versions. Except for `findShared`, a method reads only datasets of the tenant. */
export interface DatasetReads {
  find(tenantId: string, id: string): Promise<Dataset | undefined>;
  list(tenantId: string, query: DatasetQuery): Promise<readonly Dataset[]>;
  /** Finds the dataset that is shared under the token. */
  findShared(token: string): Promise<Dataset | undefined>;
  /** Finds the version that a tag or a time refers to. */
  findVersion(tenantId: string, id: string, asOf: AsOf): Promise<DatasetVersion | undefined>;
  /** Lists versions of a dataset, the newest first. */
  listVersions(
    tenantId: string,
    id: string,
    query: VersionQuery,
  ): Promise<readonly DatasetVersion[]>;
  /**
   * Counts the versions of a dataset up to a time, inclusive. This is also the number of the version that has this
   * time.
   */
  countVersions(tenantId: string, id: string, upToMicros: VersionTime): Promise<number>;
  /** Compares two versions of a dataset. */
  diff(
    tenantId: string,
    id: string,
    versionTimes: { from: VersionTime; to: VersionTime },
  ): Promise<DatasetDiff>;
  /** Reads who wrote the newest version at or before a time. Returns `null` if that is not known. */
  readVersionAuthor(tenantId: string, id: string, time: VersionTime): Promise<VersionAuthor | null>;
  /** Returns the number of differences of each kind, and one page of them. */
  diffPage(tenantId: string, id: string, query: DiffPageQuery): Promise<DatasetDiffPage>;
}

/** Where building a search index continues: after the row `afterKey`, up to the row `lastKey`. */
export interface IndexPosition {
  /** Key of the last row that is in the index. */
  readonly afterKey: number;
  /** Key of the last row that existed when indexing began. If later rows belong to the index, their writes add them. */
  readonly lastKey: number;
}

/** The writes of datasets, their versions, shares and search indexes. */
export interface DatasetWrites {
  /** @throws RequestError 409: another dataset of the tenant has the name or the id. 422: a schema is malformed. */
  create(tenantId: string, draft: DatasetDraft): Promise<Dataset>;
  /**
   * @throws RequestError 404: no such dataset. 409: another dataset has the name. 422: examples do not match a schema.
   */
  update(tenantId: string, id: string, changes: DatasetChanges): Promise<Dataset>;
  /**
   * Hides the datasets at once and returns their ids; {@link DatasetWrites.sweep} erases their rows later.
   *
   * @throws RequestError 404: none of them exists.
   */
  deleteMany(tenantId: string, ids: readonly string[]): Promise<readonly string[]>;
  /**
   * Erases some of the rows of deleted datasets, so that other writes can run between two calls. Returns `false` when
   * all of these rows are erased.
   */
  sweep(): Promise<boolean>;
  /**
   * Shares a dataset, and returns the token of its link. Repeating the call returns the same token.
   *
   * @throws RequestError 404: no such dataset.
   */
  share(tenantId: string, id: string): Promise<string>;
  /**
   * Revokes the share token.
   *
   * @throws RequestError 404: no such dataset.
   */
  unshare(tenantId: string, id: string): Promise<void>;
  /**
   * Moves a tag to a version; creates the tag if it does not exist.
   *
   * @throws RequestError 404: no such dataset or version.
   */
  tag(tenantId: string, id: string, target: { asOf: AsOf; tag: string }): Promise<DatasetVersion>;
  /**
   * Begins to build the search index of the version that has this tag. {@link DatasetWrites.extendIndex} continues the
   * work.
   *
   * @throws RequestError 404: no such dataset or version.
   */
  beginIndex(tenantId: string, id: string, tag: string): Promise<IndexPosition>;
  /** Adds some rows to the search index. Returns where to continue, or `undefined` if the index is complete. */
  extendIndex(
    tenantId: string,
    id: string,
    position: IndexPosition,
  ): Promise<IndexPosition | undefined>;
}

/** A change of a dataset and of some of its examples, which the database engine stores in one write. */
export interface DatasetUpdate {
  /** The dataset after the change. */
  readonly dataset: Dataset;
  readonly changes: readonly ExampleChange[];
  /** Whether all examples must be validated, because a schema changed. */
  readonly mustCheckExamples: boolean;
}

/** The writes to datasets that also write examples. Each database engine stores examples in its own way. */
export interface DatasetExamplesWriter {
  updateDataset(tenantId: string, update: DatasetUpdate): LongWrite<Dataset>;
  /** Erases some rows of the examples of a dataset. Returns whether all of them are erased now. */
  eraseSome(datasetId: string): boolean | Promise<boolean>;
}

/** The full-text index of the example search. Whether a method returns a promise depends on the database engine. */
export interface ExampleTextIndex {
  /** Removes all rows of a dataset from the index. Returns the key of the last row that must be indexed. */
  begin(datasetId: string): number | Promise<number>;
  /**
   * Adds up to `limit` rows to the index. Returns the key of the last added row, or `undefined` if no more rows follow.
   */
  extend(
    datasetId: string,
    range: IndexPosition & { readonly versionTime: VersionTime; readonly limit: number },
  ): number | undefined | Promise<number | undefined>;
}
