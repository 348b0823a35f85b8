import type { Activity } from "../runs/activity.ts";
import type { AnnotationQueueReads, AnnotationQueueWrites } from "../queues/annotation-queue.ts";
import type { ComparativeReads, ComparativeWrites } from "../experiments/comparative.ts";
import type { ExperimentReads } from "../experiments/experiment.ts";
import type { FeedbackReads, FeedbackWrites } from "../feedback/feedback.ts";
import type { FeedbackTrendReads } from "../feedback/trend-query.ts";
import type { DatasetReads, DatasetWrites } from "../datasets/dataset.ts";
import type { ExampleReads, ExampleWrites } from "../datasets/examples/example.ts";
import type { LargeExampleWrites } from "../datasets/examples/large-examples.ts";
import type { ProjectReads, ProjectWrites } from "../projects/project.ts";
import type { PromptReads, PromptWrites } from "../prompts/prompt.ts";
import type { QueueReviewReads, QueueReviewWrites } from "../queues/queue-review.ts";
import type { RunListReads } from "../runs/run-list.ts";
import type { RetentionReads, RetentionWrites } from "../runs/retention/retention.ts";
import type { RunReads, RunWrites } from "../runs/run-query.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import type { ShareReads, ShareWrites } from "../shares/share.ts";
import type { StorageReads } from "../storage/storage-use.ts";
import type { TenantReads, TenantWrites } from "../tenants/tenant.ts";
import type { TraceReads } from "../runs/trace.ts";
import type { UploadWrites } from "../datasets/imports/upload.ts";
import type { Promised } from "../storage/promised.ts";

/** All queries, by resource. A reader thread runs one of them at a time. */
export interface Readers {
  readonly annotationQueues: AnnotationQueueReads;
  readonly comparatives: ComparativeReads;
  readonly feedback: FeedbackReads;
  readonly feedbackTrend: FeedbackTrendReads;
  readonly datasets: DatasetReads;
  readonly examples: ExampleReads;
  readonly experiments: ExperimentReads;
  readonly projects: ProjectReads;
  readonly prompts: PromptReads;
  readonly queueReviews: QueueReviewReads;
  readonly retention: RetentionReads;
  readonly runs: RunReads;
  readonly runLists: RunListReads;
  readonly shares: ShareReads;
  readonly storage: StorageReads;
  readonly tenants: TenantReads;
  readonly traces: TraceReads;
}

/**
 * All writes, by resource. Each call takes effect as a whole or not at all: a call that throws has changed nothing,
 * and a `RequestError` thrown in it reaches the caller unchanged.
 */
export interface Writers {
  readonly annotationQueues: AnnotationQueueWrites;
  readonly comparatives: ComparativeWrites;
  readonly feedback: FeedbackWrites;
  readonly datasets: DatasetWrites;
  readonly examples: ExampleWrites;
  readonly largeExamples: LargeExampleWrites;
  readonly uploads: UploadWrites;
  readonly projects: ProjectWrites;
  readonly prompts: PromptWrites;
  readonly queueReviews: QueueReviewWrites;
  readonly retention: RetentionWrites;
  readonly runs: RunWrites;
  readonly shares: ShareWrites;
  readonly tenants: TenantWrites;
}

/**
 * Everything that the server stores. Rows belong to tenants: a method that takes a tenant's id reads and changes only
 * that tenant's rows.
 */
export interface Store {
  readonly read: Promised<Readers>;
  /** Resolves when the change would survive the end of the process. */
  readonly write: Promised<Writers>;
  /** The tenant of requests without a key; created at the first start. */
  readonly defaultTenantId: string;
  /** Why only deletions are accepted, because the disk is full; `undefined` while all writes are. */
  readonly readOnlyReason: string | undefined;
  /** Resolves when the batch would survive the end of the process. */
  ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult>;
  /** Sets the listener that is called with what each commit stored for runs. */
  onActivity(listener: (activity: readonly Activity[]) => void): void;
  /** Cancels running queries and refuses new ones, because the server is about to end. */
  endReads(): void;
  /** Cancels queries, completes running writes, then releases files and threads. May be called twice. */
  close(): Promise<void>;
}
