import type { Writable } from "node:stream";
import type { WirePost } from "../model/run.ts";
import type { UploadResult, UploadSettings, UploadSource } from "../model/resources/upload.ts";
import type { DatasetKey } from "./datasets/dataset-key.ts";
import type { CreateDataset } from "./datasets/dataset-options.ts";
import type { NewExample } from "./datasets/example-options.ts";
import type { CreateFeedback } from "./feedback-input.ts";

/** What makes the id of a row: its content, a member of it, or a function's answer; `undefined`: its content. */
export type RowId<Row> =
  | "content"
  | { readonly key: string }
  | ((row: Row, number: number) => string | undefined);

/** What {@link Examples.upload} takes beside the source. */
export type UploadExamples<Row> = DatasetKey &
  UploadSettings & {
    /** Whether, and as what, the dataset is made where there is none of the name given. @defaultValue false */
    readonly createDataset?: boolean | Omit<CreateDataset, "name" | "signal"> | undefined;
    /**
     * The example that a row becomes; `number` counts rows from 1. What it throws rejects the row.
     *
     * @defaultValue the row itself
     */
    readonly toExample?: ((row: Row, number: number) => NewExample) | undefined;
    /**
     * How two rows are recognized as the same example, in this upload and in a later one. The `id` of an example
     * takes precedence, but for one of a row that `{ key: "id" }` names: that may be any text or number.
     *
     * @defaultValue "content"
     */
    readonly idFrom?: RowId<Row> | undefined;
  };

/** What {@link Feedbacks.upload} takes beside the source. */
export interface UploadFeedback<Row> extends UploadSettings {
  /** The judgement that a row becomes. @defaultValue the row itself */
  readonly toFeedback?: ((row: Row, number: number) => CreateFeedback) | undefined;
  /** As of {@link UploadExamples}. @defaultValue "content" */
  readonly idFrom?: RowId<Row> | undefined;
}

/** What {@link Runs.upload} takes beside the source. */
export interface UploadRuns<Row> extends UploadSettings {
  /** The wire-shaped run that a row becomes, with its own id, times and dotted order. @defaultValue the row itself */
  readonly toRun?: ((row: Row, number: number) => WirePost) | undefined;
  /** Where runs are filed that name no project. @defaultValue the client's */
  readonly projectName?: string | undefined;
}

/** An object-mode stream that takes rows, for `pipeline()`; `result` settles when it has ended. */
export type UploadStream = Writable & { readonly result: Promise<UploadResult> };

/** Sends rows of any number through workers. */
export interface Uploader {
  examples<Row>(source: UploadSource<Row>, request: UploadExamples<Row>): Promise<UploadResult>;
  examplesStream<Row>(request: UploadExamples<Row>): UploadStream;
  feedback<Row>(source: UploadSource<Row>, request: UploadFeedback<Row>): Promise<UploadResult>;
  runs<Row>(source: UploadSource<Row>, request: UploadRuns<Row>): Promise<UploadResult>;
}
