import { AnnotationQueueReader } from "./annotation-queue-reader.ts";
import { AnnotationQueueWriter } from "./annotation-queue-writer.ts";
import { ComparativeReader } from "./comparative-reader.ts";
import { ComparativeWriter } from "./comparative-writer.ts";
import { ExperimentReader } from "./experiment-reader.ts";
import { FeedbackReader } from "./feedback-reader.ts";
import { FeedbackTrend } from "./feedback-trend.ts";
import { FeedbackWriter } from "./feedback-writer.ts";
import type { Readers, Writers } from "../store.ts";
import { createDatasetDesk } from "./dataset-desk.ts";
import { DatasetReader } from "./dataset-reader.ts";
import { DatasetWriter } from "./dataset-writer.ts";
import { ExampleReader } from "./example-reader.ts";
import { ExampleWriter } from "./example-writer.ts";
import { LargeExampleWriter } from "./large-example-writer.ts";
import { ProjectReader } from "./project-reader.ts";
import { ProjectWriter } from "./project-writer.ts";
import { PromptReader } from "./prompt-reader.ts";
import { PromptWriter } from "./prompt-writer.ts";
import { RunListReader } from "./run-list-reader.ts";
import { RetentionRules } from "./retention-rules.ts";
import { RetentionWriter } from "./retention-writer.ts";
import { RunReader } from "./run-reader.ts";
import { RunWriter } from "./run-writer.ts";
import { QueueReviewReader } from "./queue-review-reader.ts";
import { QueueReviewWriter } from "./queue-review-writer.ts";
import type { Connection } from "./schema.ts";
import { ShareReader } from "./share-reader.ts";
import { ShareWriter } from "./share-writer.ts";
import { StepSize } from "./step-size.ts";
import { StorageReader } from "./storage-reader.ts";
import { TenantKeys, TenantKeyWriter } from "./tenant-keys.ts";
import { TenantReader } from "./tenant-reader.ts";
import { scopeReaders, scopeWriters } from "./tenant-scope.ts";
import { TenantWriter } from "./tenant-writer.ts";
import { TraceReader } from "./trace-reader.ts";
import { TextIndexWriter } from "./text-index-writer.ts";
import { UploadWriter } from "./upload-writer.ts";

/** What answers questions, on a connection that can't write. */
export function createReaders(db: Connection): Readers {
  const keys = new TenantKeys(db);
  const runs = new RunReader(db, keys);
  const readers = {
    datasets: new DatasetReader(db),
    examples: new ExampleReader(db),
    experiments: new ExperimentReader(db),
    annotationQueues: new AnnotationQueueReader(db),
    comparatives: new ComparativeReader(db),
    feedback: new FeedbackReader(db),
    feedbackTrend: new FeedbackTrend(db),
    projects: new ProjectReader(db),
    prompts: new PromptReader(db),
    queueReviews: new QueueReviewReader(db),
    runs,
    runLists: new RunListReader(db, runs),
    retention: new RetentionRules(db),
    shares: new ShareReader(db),
    storage: new StorageReader(db),
    tenants: new TenantReader(db),
    traces: new TraceReader(db),
  };
  return scopeReaders(readers, keys);
}

/** What writes, on the one connection that does. Transactions are the caller's. */
export function createWriters(db: Connection) {
  const keys = new TenantKeyWriter(db);
  const steps = new StepSize();
  const projects = new ProjectWriter(db, keys, steps);
  const feedback = new FeedbackWriter(db, keys);
  const datasetDesk = createDatasetDesk(db, keys);
  const examples = new ExampleWriter(datasetDesk);
  const largeExamples = new LargeExampleWriter(datasetDesk, examples);
  const scoped = {
    annotationQueues: new AnnotationQueueWriter(db),
    comparatives: new ComparativeWriter(db),
    feedback,
    projects,
    prompts: new PromptWriter(db),
    queueReviews: new QueueReviewWriter(db),
    retention: new RetentionWriter(db, steps),
    shares: new ShareWriter(db),
    tenants: new TenantWriter(db),
    datasets: new DatasetWriter(datasetDesk, largeExamples),
    examples,
    largeExamples,
    uploads: new UploadWriter(datasetDesk),
  };
  const asked = {
    ...scopeWriters(scoped, keys),
    runs: new RunWriter(db, { projects, feedback, keys }),
  } satisfies Writers;
  // For no request.
  return { ...asked, textIndex: new TextIndexWriter(db), schemas: datasetDesk.schemas, steps };
}

export type SqliteWriters = ReturnType<typeof createWriters>;
