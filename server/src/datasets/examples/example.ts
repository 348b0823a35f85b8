import type { Sql } from "../../filter/sql.ts";
import type { Moment } from "../dataset-version.ts";
import type { LongWrite } from "../../storage/long-write.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** A file of an example. */
export interface Attachment {
  readonly name: string;
  readonly mimeType: string;
  /** The row that has the bytes. */
  readonly blob: number;
}

/** An example as it is in one version. Payloads are JSON texts, as they were received. */
export interface Example {
  readonly id: string;
  readonly datasetId: string;
  readonly datasetName: string;
  readonly createdMicros: number;
  readonly modifiedMicros: number;
  readonly sourceRunId: string | null;
  readonly inputs: string;
  readonly outputs: string | null;
  /** An object that has `dataset_split`. */
  readonly metadata: string;
  readonly attachments: readonly Attachment[];
  /** Its place in the order of writing. */
  readonly position: number;
}

export interface AttachmentDraft {
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

export interface ExampleDraft {
  readonly id: string;
  /** Whether the id was made here: then it is not looked for. */
  readonly isNew: boolean;
  readonly datasetId: string;
  /** `undefined`: when it is written. */
  readonly createdMicros?: number;
  readonly sourceRunId: string | null;
  readonly inputs: string;
  readonly outputs: string | null;
  readonly metadata: string;
  readonly attachments?: readonly AttachmentDraft[];
  /** Names of attachments of the source run that are copied. */
  readonly runAttachments?: readonly string[];
}

/** What becomes of the attachments that an example has: the others go. */
export interface AttachmentOperations {
  readonly rename: Readonly<Record<string, string>>;
  readonly retain: readonly string[];
}

/** What is written anew; what is `undefined` stays. */
export interface ExampleChange {
  readonly id: string;
  /** Another dataset of the tenant's: the example moves there. */
  readonly datasetId?: string;
  readonly inputs?: string;
  readonly outputs?: string | null;
  /** Without the splits. */
  readonly metadata?: string;
  readonly splits?: readonly string[];
  readonly attachments?: readonly AttachmentDraft[];
  readonly operations?: AttachmentOperations;
}

/** When an example was made and last written. */
export interface ExampleTimes {
  readonly createdMicros: number;
  readonly modifiedMicros: number;
}

/** What became of a write to examples. */
export interface ExamplesWritten {
  /** By id of the dataset: its name and the version that has what was written. */
  readonly datasets: Readonly<Record<string, { readonly name: string; readonly micros: number }>>;
  /** By id: those that were there already, the same. */
  readonly known: Readonly<Record<string, ExampleTimes>>;
}

/** `written`: in the order of writing, whatever version is asked for. */
export type ExampleOrder = "recent" | "recently_created" | "random" | "id" | "written";

/** Which examples are meant. All that is given must hold. */
export interface ExampleFilter {
  readonly datasetId?: string;
  readonly moment: Moment;
  readonly ids?: readonly string[];
  /** Any of them. */
  readonly splits?: readonly string[];
  /** What its metadata contains. */
  readonly metadata?: JsonObject;
  /** Parts of the JSON text of inputs or outputs; ASCII letters in either case. */
  readonly texts?: readonly string[];
  /** On the row `e` of `examples`. */
  readonly condition?: Sql;
}

export interface ExampleQuery {
  readonly filter: ExampleFilter;
  readonly order: ExampleOrder;
  readonly isDescending: boolean;
  /** Of the order `random`. */
  readonly seed: number;
  /** Of the order `written`: the example behind which the list goes on. */
  readonly after?: string;
  readonly limit: number;
  readonly offset: number;
}

export interface ExamplePageQuery {
  readonly datasetId: string;
  readonly moment: Moment;
  /** Any of them; all examples where it is left out. */
  readonly splits?: readonly string[];
  /** The position that the page before ended at. */
  readonly after: number;
  readonly limit: number;
  /** Bytes of payloads after which no further example is read. */
  readonly bytesMax: number;
}

/** The beginning of a payload, and how long all of it is. */
export interface TextPreview {
  readonly text: string;
  readonly chars: number;
}

/** An example as a list shows it: bounded, whatever it holds. */
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

/** What became of examples that need not all be taken. */
export interface ExamplesImported extends ExamplesWritten {
  readonly count: number;
  /** By id: why it was not taken. */
  readonly rejected: Readonly<Record<string, string>>;
}

export interface ExampleSearch {
  readonly datasetId: string;
  readonly words: readonly string[];
  /** On the row `e` of `examples`. */
  readonly condition?: Sql;
  readonly limit: number;
}

export interface ExampleReads {
  find(tenantId: string, id: string, moment: Moment): Example | undefined;
  /** @throws RequestError 404: there is no example to go on behind. */
  list(tenantId: string, query: ExampleQuery): readonly Example[];
  /** As `list`, with at most so many characters of each payload. */
  preview(tenantId: string, query: ExampleQuery, chars: number): readonly ExamplePreview[];
  count(tenantId: string, filter: ExampleFilter): number;
  /** In the order of writing; none only where no more follow. */
  page(tenantId: string, query: ExamplePageQuery): readonly Example[];
  /** The dataset that an example is or was in. */
  findDatasetId(tenantId: string, id: string): string | undefined;
  /** Those of the runs of which examples of today were made. */
  listSources(tenantId: string, runIds: readonly string[]): readonly string[];
  listSplits(tenantId: string, datasetId: string, moment: Moment): readonly string[];
  /** The nearest first. @throws RequestError 400: the dataset is not indexed. */
  search(tenantId: string, search: ExampleSearch): readonly Example[];
  /** The bytes of an attachment; the address that leads here was signed. */
  findBlob(blob: number): Uint8Array | undefined;
}

export interface ExampleWrites {
  /**
   * Makes examples, as one version of each dataset. One that is there already, the same, is left.
   *
   * @throws RequestError 404: no such dataset. 409: an id is taken. 422: one does not fit a schema.
   */
  create(tenantId: string, drafts: readonly ExampleDraft[]): ExamplesWritten;
  /**
   * Why the dataset's schemas refuse examples, by id; writes nothing.
   *
   * @throws RequestError 404: no such dataset.
   */
  check(
    tenantId: string,
    datasetId: string,
    drafts: readonly ExampleDraft[],
  ): Readonly<Record<string, string>>;
  /**
   * All of them, or none, as one version of each dataset.
   *
   * @throws RequestError 404: no such example, here where a dataset is named. 422: one does not fit a schema.
   */
  update(tenantId: string, changes: readonly ExampleChange[], datasetId?: string): ExamplesWritten;
  /** Ids of those deleted. `hard`: out of the earlier versions too. @throws RequestError 404: none is there. */
  deleteMany(
    tenantId: string,
    ids: readonly string[],
    how: "soft" | "hard",
  ): LongWrite<readonly string[]>;
}

export interface SplitChange {
  readonly name: string;
  readonly exampleIds: readonly string[];
  readonly isRemoval: boolean;
}
