import { callOptionKeys } from "./http/known-arguments.ts";
import type { Writable } from "node:stream";
import type { WirePost } from "../model/run.ts";
import type { UploadResult, UploadSettings, UploadSource } from "../model/resources/upload.ts";
import type { DatasetKey } from "./datasets/dataset-key.ts";
import type { CreateDataset } from "./datasets/dataset-options.ts";
import type { NewExample } from "./datasets/example-options.ts";
import type { CreateFeedback } from "./feedback-input.ts";

/**
 * How the id of a row is derived: from the row's content, from the field with the name `key`, or by a function. If the
 * function returns `undefined`, the id is derived from the content.
 */
export type RowId<Row> =
  | "content"
  | { readonly key: string }
  | ((row: Row, number: number) => string | undefined);

/** Options of {@link Examples.upload}. */
export type UploadExamples<Row> = DatasetKey &
  UploadSettings & {
    /**
     * Whether to create the dataset if none has the given name; an object gives the fields of the new dataset.
     *
     * @defaultValue false
     */
    readonly createDataset?: boolean | Omit<CreateDataset, "name" | "signal"> | undefined;
    /**
     * Converts a row to an example; `number` counts rows from 1. If it throws, the row is rejected.
     *
     * @defaultValue the row itself is the example
     */
    readonly toExample?: ((row: Row, number: number) => NewExample) | undefined;
    /**
     * How to recognize two rows as the same example, within this upload and across uploads. An `id` field of
     * the example takes precedence, except with `{ key: "id" }`, which accepts any string or number as the
     * row's id.
     *
     * @defaultValue "content"
     */
    readonly idFrom?: RowId<Row> | undefined;
  };

/** Options of {@link Feedbacks.upload}. */
export interface UploadFeedback<Row> extends UploadSettings {
  /** Converts a row to feedback. If it throws, the row is rejected. @defaultValue the row itself is the feedback */
  readonly toFeedback?: ((row: Row, number: number) => CreateFeedback) | undefined;
  /** How to recognize two rows as the same feedback, as in {@link UploadExamples}. @defaultValue "content" */
  readonly idFrom?: RowId<Row> | undefined;
}

/** Options of {@link Runs.upload}. */
export interface UploadRuns<Row> extends UploadSettings {
  /**
   * Converts a row to a run in wire form, with its own id, times and dotted order. If it throws, the row is
   * rejected.
   *
   * @defaultValue the row itself is the run
   */
  readonly toRun?: ((row: Row, number: number) => WirePost) | undefined;
  /** Project of runs that don't name one. @defaultValue the client's option `projectName` */
  readonly projectName?: string | undefined;
}

/** A writable object-mode stream of rows, for `pipeline()`. `result` settles when the upload has ended. */
export type UploadStream = Writable & { readonly result: Promise<UploadResult> };

/** Uploads any number of rows through worker threads. */
export interface Uploader {
  uploadExamples<Row>(
    source: UploadSource<Row>,
    request: UploadExamples<Row>,
  ): Promise<UploadResult>;
  streamExamples<Row>(request: UploadExamples<Row>): UploadStream;
  uploadFeedback<Row>(
    source: UploadSource<Row>,
    request: UploadFeedback<Row>,
  ): Promise<UploadResult>;
  uploadRuns<Row>(source: UploadSource<Row>, request: UploadRuns<Row>): Promise<UploadResult>;
}

/** The option names of {@link UploadSettings}. */
export const uploadSettingKeys = {
  ...callOptionKeys,
  chunkBytes: true,
  chunkCount: true,
  inFlight: true,
  ordered: true,
  checkpoint: { path: true, source: true },
  dryRun: true,
  patienceMs: true,
  onRejected: true,
  onProgress: true,
  onWait: true,
} as const;
