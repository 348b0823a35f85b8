import type { AsOf, DatasetVersion, Moment } from "./dataset-version.ts";
import type { ExampleChange } from "./examples/example.ts";
import type { LongWrite } from "../storage/long-write.ts";
import type { ShareToken } from "../storage/share-token.ts";

type JsonObject = Readonly<Record<string, unknown>>;

export const dataTypes = ["kv", "llm", "chat"] as const;

/** What its examples look like: members, a text in and out, or messages. */
export type DataType = (typeof dataTypes)[number];

/** What of a dataset a caller writes. */
export interface DatasetFields {
  readonly name: string;
  readonly description: string | null;
  readonly dataType: DataType;
  /** JSON schema that the inputs of every example fulfil. */
  readonly inputsSchema: JsonObject | null;
  readonly outputsSchema: JsonObject | null;
  readonly extra: JsonObject | null;
  /** Kept and given back; not carried out. */
  readonly transformations: readonly unknown[] | null;
  readonly externallyManaged: boolean;
  readonly baselineExperimentId: string | null;
}

export interface Dataset extends DatasetFields {
  readonly id: string;
  readonly tenantId: string;
  readonly createdMicros: number;
  /** When it or one of its examples was last written. */
  readonly modifiedMicros: number;
  /** The newest version; `null` until an example is written. */
  readonly versionMicros: number | null;
  readonly exampleCount: number;
  /** Experiments over it. */
  readonly sessionCount: number;
  readonly lastSessionMicros: number | null;
  readonly shareToken: ShareToken;
  readonly index: DatasetIndex | null;
}

/** What `search` looks at. */
export interface DatasetIndex {
  readonly tag: string;
  /** The version that was indexed; `null` where the index follows the newest. */
  readonly micros: number | null;
}

export interface DatasetDraft extends DatasetFields {
  readonly id: string;
  readonly createdMicros: number;
}

/** What is written anew; what is `undefined` stays. */
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

/** Kinds of difference, in the order in which pages show them. */
export const differences = ["removed", "modified", "added"] as const;
export type Difference = (typeof differences)[number];

export interface DiffPageQuery {
  readonly from: Moment;
  readonly to: Moment;
  /** All of them where it is left out. */
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
  /** Entries that its metadata has. */
  readonly metadata?: JsonObject;
  readonly order: DatasetOrder;
  readonly isDescending: boolean;
  readonly limit: number;
  readonly offset: number;
}

export interface VersionQuery {
  /** Part of a tag. */
  readonly search?: string;
  /** Versions in which this example was written. */
  readonly exampleId?: string;
  readonly limit: number;
  readonly offset: number;
}

export interface DatasetReads {
  find(tenantId: string, id: string): Dataset | undefined;
  list(tenantId: string, query: DatasetQuery): readonly Dataset[];
  /** The holder of the token may read it. */
  findShared(token: string): Dataset | undefined;
  /** The version that a tag is at, or the newest at or before a time; of a dataset of the tenant's. */
  findVersion(tenantId: string, id: string, asOf: AsOf): DatasetVersion | undefined;
  /** Newest first. */
  listVersions(tenantId: string, id: string, query: VersionQuery): readonly DatasetVersion[];
  diff(tenantId: string, id: string, moments: { from: Moment; to: Moment }): DatasetDiff;
  /** How much differs, and a page of it. */
  diffPage(tenantId: string, id: string, query: DiffPageQuery): DatasetDiffPage;
}

/** Where the building of an index goes on. */
export interface IndexPosition {
  readonly after: number;
  /** Rows after this one came while it was built, and are in it. */
  readonly lastKey: number;
}

export interface DatasetWrites {
  /** @throws RequestError 409: name or id is taken. 422: a schema is malformed. */
  create(tenantId: string, draft: DatasetDraft): Dataset;
  /** @throws RequestError 404: no such dataset. 409: the name is taken. 422: examples don't fit. */
  update(tenantId: string, id: string, changes: DatasetChanges): LongWrite<Dataset>;
  /**
   * From now on they are not there; what they held goes by {@link DatasetWrites.sweep}. Ids of those
   * deleted. @throws RequestError 404: none is there.
   */
  deleteMany(tenantId: string, ids: readonly string[]): readonly string[];
  /** Deletes a part of what deleted datasets held: others write in between. `false`: there is no more. */
  sweep(): boolean;
  /** The token; the same one when repeated. @throws RequestError 404: no such dataset. */
  share(tenantId: string, id: string): string;
  /** @throws RequestError 404: no such dataset. */
  unshare(tenantId: string, id: string): void;
  /** Puts a tag at a version. @throws RequestError 404: no such dataset or version. */
  tag(tenantId: string, id: string, at: { asOf: AsOf; tag: string }): DatasetVersion;
  /** Begins to build what `search` looks at. @throws RequestError 404: no such dataset or version. */
  beginIndex(tenantId: string, id: string, tag: string): IndexPosition;
  /** Builds a part; where to go on, or `undefined` at the end. */
  extendIndex(tenantId: string, id: string, from: IndexPosition): IndexPosition | undefined;
}
