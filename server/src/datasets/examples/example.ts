import type { CheckedFilter } from "../../filter/checker.ts";
import type { Moment } from "../dataset-version.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** A file of an example. */
export interface Attachment {
  readonly name: string;
  readonly mimeType: string;
  /** Key of the row that stores the bytes. */
  readonly blob: number;
}

/** An example in one version. Payloads are JSON texts as they were received. */
export interface Example {
  readonly id: string;
  readonly datasetId: string;
  readonly datasetName: string;
  readonly createdMicros: number;
  readonly modifiedMicros: number;
  readonly sourceRunId: string | null;
  readonly inputs: string;
  readonly outputs: string | null;
  /** JSON of an object that includes `dataset_split`. */
  readonly metadata: string;
  readonly attachments: readonly Attachment[];
  /** The example's position in the order of creation. Updates do not change it. */
  readonly position: number;
}

export interface AttachmentDraft {
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

export interface ExampleDraft {
  readonly id: string;
  /** Whether the server generated the id: then no existing example can have it, and none is looked up. */
  readonly isNew: boolean;
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

/** What to do with the attachments of an example: those neither renamed nor retained are removed. */
export interface AttachmentOperations {
  readonly rename: Readonly<Record<string, string>>;
  readonly retain: readonly string[];
}

/** The fields to update; those that are `undefined` keep their value. */
export interface ExampleChange {
  readonly id: string;
  /** Moves the example to another dataset of the tenant. */
  readonly datasetId?: string;
  readonly inputs?: string;
  readonly outputs?: string | null;
  /** The metadata without the splits. */
  readonly metadata?: string;
  readonly splits?: readonly string[];
  readonly attachments?: readonly AttachmentDraft[];
  readonly operations?: AttachmentOperations;
}

/** The times at which an example was created and last written. */
export interface ExampleTimes {
  readonly createdMicros: number;
  readonly modifiedMicros: number;
}

/** The result of a write to examples. */
export interface ExamplesWritten {
  /** The name of each dataset and the time of its version that contains the write, by dataset id. */
  readonly datasets: Readonly<Record<string, { readonly name: string; readonly micros: number }>>;
  /** The times of identical examples that already existed, by example id. */
  readonly existing: Readonly<Record<string, ExampleTimes>>;
}

/** `written` is the order of creation, which is the same in every version. */
export type ExampleOrder = "recent" | "recently_created" | "random" | "id" | "written";

/** Selects examples. All conditions that are set must hold. */
export interface ExampleFilter {
  readonly datasetId?: string;
  readonly moment: Moment;
  readonly ids?: readonly string[];
  /** Only examples in any of these splits. */
  readonly splits?: readonly string[];
  /** Entries that the metadata must contain. */
  readonly metadata?: JsonObject;
  /** Each must occur in the JSON text of inputs or outputs; ASCII letters match in either case. */
  readonly texts?: readonly string[];
  /** A filter expression. */
  readonly condition?: CheckedFilter;
}

export interface ExampleQuery {
  readonly filter: ExampleFilter;
  readonly order: ExampleOrder;
  readonly isDescending: boolean;
  /** Seed of the order `random`. */
  readonly seed: number;
  /** For the order `written`: the id of the example after which the list continues. */
  readonly after?: string;
  readonly limit: number;
  readonly offset: number;
}

export interface ExamplePageQuery {
  readonly datasetId: string;
  readonly moment: Moment;
  /** Only examples in any of these splits; all examples if omitted. */
  readonly splits?: readonly string[];
  /** The position of the last example of the previous page. */
  readonly after: number;
  readonly limit: number;
  /** Bytes of payloads after which the page ends. */
  readonly bytesMax: number;
}

/** The beginning of a payload, and the length of the whole payload in characters. */
export interface TextPreview {
  readonly text: string;
  readonly chars: number;
}

/** An example as a list shows it, bounded in size whatever it holds. */
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
export interface ExamplesImported extends ExamplesWritten {
  readonly count: number;
  /** Why examples were rejected, by example id. */
  readonly rejected: Readonly<Record<string, string>>;
}

export interface ExampleSearch {
  readonly datasetId: string;
  readonly words: readonly string[];
  /** A filter expression. */
  readonly condition?: CheckedFilter;
  readonly limit: number;
}

export interface ExampleReads {
  find(tenantId: string, id: string, moment: Moment): Promise<Example | undefined>;
  /** @throws RequestError 404: there is no example with the id `after`. */
  list(tenantId: string, query: ExampleQuery): Promise<readonly Example[]>;
  /** Like `list`, with at most `chars` characters of each payload. */
  preview(tenantId: string, query: ExampleQuery, chars: number): Promise<readonly ExamplePreview[]>;
  count(tenantId: string, filter: ExampleFilter): Promise<number>;
  /** Returns one page in the order of creation. A page is empty only if no more examples follow. */
  page(tenantId: string, query: ExamplePageQuery): Promise<readonly Example[]>;
  /** Finds the dataset that contains an example, or contained it before it was deleted. */
  findDatasetId(tenantId: string, id: string): Promise<string | undefined>;
  /** Returns the ids of those runs from which a current example was created. */
  listSources(tenantId: string, runIds: readonly string[]): Promise<readonly string[]>;
  listSplits(tenantId: string, datasetId: string, moment: Moment): Promise<readonly string[]>;
  /**
   * Returns the examples that match best, the best match first.
   *
   * @throws RequestError 400: the dataset is not indexed.
   */
  search(tenantId: string, search: ExampleSearch): Promise<readonly Example[]>;
  /** Finds the bytes of an attachment. Takes no tenant, because the signed URL authorized the request. */
  findBlob(blob: number): Promise<Uint8Array | undefined>;
}

export interface ExampleWrites {
  /**
   * Creates examples, as one version of each dataset. An identical example that already exists is left unchanged.
   *
   * @throws RequestError 404: no such dataset. 409: an id is taken. 422: an example does not match a schema.
   */
  create(tenantId: string, drafts: readonly ExampleDraft[]): Promise<ExamplesWritten>;
  /**
   * Returns why the dataset's schemas reject examples, by example id. Writes nothing.
   *
   * @throws RequestError 404: no such dataset.
   */
  check(
    tenantId: string,
    datasetId: string,
    drafts: readonly ExampleDraft[],
  ): Promise<Readonly<Record<string, string>>>;
  /**
   * Applies all changes or none, as one version of each dataset.
   *
   * @throws RequestError 404: an example does not exist, or is not in `datasetId` if that is passed. 422: one does
   * not match a schema.
   */
  update(
    tenantId: string,
    changes: readonly ExampleChange[],
    datasetId?: string,
  ): Promise<ExamplesWritten>;
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

export interface SplitChange {
  readonly name: string;
  readonly exampleIds: readonly string[];
  readonly isRemoval: boolean;
}
