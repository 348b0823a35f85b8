import type { CheckedFilter } from "../../filter/checker.ts";
import type { VersionTime } from "../dataset-version.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** A file that belongs to an example. */
export interface Attachment {
  readonly name: string;
  readonly mimeType: string;
  /** Key of the row in the table `example_blobs` that contains the bytes. */
  readonly blob: number;
}

/** An example in one version of its dataset. Inputs, outputs and metadata are JSON texts as they were received. */
export interface Example {
  readonly id: string;
  readonly datasetId: string;
  readonly datasetName: string;
  readonly createdMicros: number;
  readonly modifiedMicros: number;
  readonly sourceRunId: string | null;
  readonly inputs: string;
  readonly outputs: string | null;
  /** JSON of an object; its member `dataset_split` names the splits. */
  readonly metadata: string;
  readonly attachments: readonly Attachment[];
  /** The example's position in the order of creation. Updates do not change it. */
  readonly position: number;
}

/** An attachment that is to be stored. */
export interface AttachmentDraft {
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

/** An example that is to be created. */
export interface ExampleDraft {
  readonly id: string;
  /**
   * Whether the server has generated the id. Then no existing example can have this id, so the server does not look for
   * one.
   */
  readonly hasGeneratedId: boolean;
  readonly datasetId: string;
  /** Defaults to the time of the write. */
  readonly createdMicros?: number;
  readonly sourceRunId: string | null;
  readonly inputs: string;
  readonly outputs: string | null;
  readonly metadata: string;
  readonly attachments?: readonly AttachmentDraft[];
  /** Names of attachments to copy from the source run. */
  readonly runAttachments?: readonly string[];
}

/**
 * How an update changes the attachments of an example. The update removes all attachments that are neither in `rename`
 * nor in `retain`.
 */
export interface AttachmentOperations {
  /** New names of attachments, by their old names. */
  readonly rename: Readonly<Record<string, string>>;
  /** Names of the attachments to retain as they are; `undefined` retains all of them. */
  readonly retain: readonly string[] | undefined;
}

/** An update of an example. Fields that are absent keep their value. */
export interface ExampleChange {
  readonly id: string;
  /** Moves the example to another dataset of the tenant. */
  readonly datasetId?: string;
  readonly inputs?: string;
  readonly outputs?: string | null;
  /** The metadata without the splits. */
  readonly metadata?: string;
  readonly splits?: readonly string[];
  /** Attachments to add; each replaces an attachment with the same name. */
  readonly attachments?: readonly AttachmentDraft[];
  readonly attachmentOperations?: AttachmentOperations;
}

/** The times at which an example was created and last written. */
export interface ExampleTimes {
  readonly createdMicros: number;
  readonly modifiedMicros: number;
}

export interface ExampleWriteResult {
  /** By dataset id: the dataset's name, and the time of the version that contains the written examples. */
  readonly datasets: Readonly<Record<string, { readonly name: string; readonly micros: number }>>;
  /** The times of identical examples that already existed, by example id. */
  readonly existingTimes: Readonly<Record<string, ExampleTimes>>;
}

/** The order of a list of examples. `written` means the order of creation, which is the same in every version. */
export type ExampleOrder = "recent" | "recently_created" | "random" | "id" | "written";

/** Selects examples. All conditions that are set must hold. */
export interface ExampleFilter {
  readonly datasetId?: string;
  /** Time of the version to read. */
  readonly versionTime: VersionTime;
  readonly ids?: readonly string[];
  /** Only examples in any of these splits. */
  readonly splits?: readonly string[];
  /** Entries that the metadata must contain. */
  readonly metadata?: JsonObject;
  /** Texts that must occur in the JSON of the inputs or outputs. The case of ASCII letters does not matter. */
  readonly texts?: readonly string[];
  /** A filter expression that examples must match. */
  readonly condition?: CheckedFilter;
}

/** Selects a page of a list of examples. */
export interface ExampleQuery {
  readonly filter: ExampleFilter;
  readonly order: ExampleOrder;
  readonly isDescending: boolean;
  /** Determines the order of the list if `order` is `random`. */
  readonly seed: number;
  /** For the order `written`: the id of the example after which the list continues. */
  readonly after?: string;
  readonly limit: number;
  readonly offset: number;
}

/** Selects a page of the examples of a dataset, in the order of creation. */
export interface ExamplePageQuery {
  readonly datasetId: string;
  /** Time of the version to read. */
  readonly versionTime: VersionTime;
  /** Only examples in any of these splits; all examples if omitted. */
  readonly splits?: readonly string[];
  /** The position of the last example of the previous page. */
  readonly after: number;
  readonly limit: number;
  /** The page ends with the example that makes its payloads exceed this number of bytes in total. */
  readonly bytesMax: number;
}

/** The beginning of a payload, and the length of the whole payload in characters. */
export interface TextPreview {
  readonly text: string;
  readonly chars: number;
}

/** An example with only the beginnings of its payloads, so that a list of large examples stays small. */
export interface ExamplePreview {
  readonly id: string;
  readonly createdMicros: number;
  readonly modifiedMicros: number;
  readonly sourceRunId: string | null;
  readonly inputs: TextPreview;
  readonly outputs: TextPreview | null;
  readonly metadata: TextPreview;
  readonly splits: readonly string[];
  readonly attachmentCount: number;
}

/** The result of an import, which may reject some of the examples. */
export interface ExampleImportResult extends ExampleWriteResult {
  /** Number of examples that were created. */
  readonly count: number;
  /** Why invalid examples were rejected, by example id. */
  readonly rejected: Readonly<Record<string, string>>;
}

/** Selects examples whose inputs contain some of the search terms. */
export interface ExampleSearch {
  readonly datasetId: string;
  readonly terms: readonly string[];
  /** A filter expression. */
  readonly condition?: CheckedFilter;
  readonly limit: number;
}

/** The reads of examples. Except for `findBlob`, a method reads only examples of the tenant. */
export interface ExampleReads {
  find(tenantId: string, id: string, versionTime: VersionTime): Promise<Example | undefined>;
  /** @throws RequestError 404: there is no example with the id `after`. */
  list(tenantId: string, query: ExampleQuery): Promise<readonly Example[]>;
  /** Like `list`, with at most `previewChars` characters of each payload. */
  preview(
    tenantId: string,
    query: ExampleQuery,
    previewChars: number,
  ): Promise<readonly ExamplePreview[]>;
  count(tenantId: string, filter: ExampleFilter): Promise<number>;
  /** Reads one page of examples in the order of creation. A page is empty only if no more examples follow. */
  page(tenantId: string, query: ExamplePageQuery): Promise<readonly Example[]>;
  /** Finds the dataset that contains an example, or contained it before it was deleted. */
  findDatasetId(tenantId: string, exampleId: string): Promise<string | undefined>;
  /** Returns the ids in `runIds` of runs from which an existing example was created. */
  listSources(tenantId: string, runIds: readonly string[]): Promise<readonly string[]>;
  listSplits(
    tenantId: string,
    datasetId: string,
    versionTime: VersionTime,
  ): Promise<readonly string[]>;
  /**
   * Returns the examples that match best, the best match first.
   *
   * @throws RequestError 400: the dataset is not indexed.
   */
  search(tenantId: string, search: ExampleSearch): Promise<readonly Example[]>;
  /** Finds the bytes of an attachment. Does not check the tenant, because the signed URL authorizes the request. */
  findBlob(blob: number): Promise<Uint8Array | undefined>;
}

export interface ExampleWrites {
  /**
   * Creates examples, and one new version of each dataset that gets new examples. Identical examples that already
   * exist stay unchanged.
   *
   * @throws RequestError 404: no such dataset. 409: another example has one of the ids. 422: an example does not match
   * a schema.
   */
  create(tenantId: string, drafts: readonly ExampleDraft[]): Promise<ExampleWriteResult>;
  /**
   * Validates examples against the dataset's schemas; returns the errors of the invalid ones, by id. Writes nothing.
   *
   * @throws RequestError 404: no such dataset.
   */
  check(
    tenantId: string,
    datasetId: string,
    drafts: readonly ExampleDraft[],
  ): Promise<Readonly<Record<string, string>>>;
  /**
   * Makes all changes or none. Creates one new version of each dataset that changes.
   *
   * @throws RequestError 404: an example does not exist, or `datasetId` is passed and an example is not in this
   * dataset. 422: an example does not match a schema.
   */
  update(
    tenantId: string,
    changes: readonly ExampleChange[],
    datasetId?: string,
  ): Promise<ExampleWriteResult>;
  /**
   * Deletes examples and returns the ids of those deleted. `hard` deletes them from earlier versions too.
   *
   * @throws RequestError 404: none of them exists.
   */
  deleteMany(
    tenantId: string,
    ids: readonly string[],
    mode: "soft" | "hard",
  ): Promise<readonly string[]>;
}

/** Adds examples to a split, or removes them from it. */
export interface SplitChange {
  readonly name: string;
  readonly exampleIds: readonly string[];
  readonly isRemoval: boolean;
}
