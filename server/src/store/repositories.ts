import { AnnotationQueueReader } from "../queues/annotation-queue-reader.ts";
import { AnnotationQueueWriter } from "../queues/annotation-queue-writer.ts";
import { ComparativeReader } from "../experiments/comparative-reader.ts";
import { ComparativeWriter } from "../experiments/comparative-writer.ts";
import { ExperimentReader } from "../experiments/experiment-reader.ts";
import { FeedbackReader } from "../feedback/feedback-reader.ts";
import { FeedbackTrend } from "../feedback/feedback-trend.ts";
import { FeedbackWriter } from "../feedback/feedback-writer.ts";
import type { Readers, Writers } from "./store.ts";
import { createDatasetWriteDependencies } from "../datasets/dataset-writing.ts";
import { DatasetReader } from "../datasets/dataset-reader.ts";
import { DatasetWriter } from "../datasets/dataset-writer.ts";
import { ExampleReader } from "../datasets/examples/sqlite/example-reader.ts";
import { ExampleWriter } from "../datasets/examples/sqlite/example-writer.ts";
import { LargeExampleWriter } from "../datasets/examples/sqlite/large-example-writer.ts";
import { ProjectReader } from "../projects/project-reader.ts";
import { ProjectWriter } from "../projects/project-writer.ts";
import type { ProjectWriteSteps } from "../projects/project-writer.ts";
import { SqliteRunProjects } from "../projects/sqlite/run-projects.ts";
import { PromptReader } from "../prompts/prompt-reader.ts";
import { PromptWriter } from "../prompts/prompt-writer.ts";
import { RunListReader } from "../runs/sqlite/run-list-reader.ts";
import { RetentionRules } from "../runs/retention/retention-rules.ts";
import { RetentionWriter } from "../runs/retention/retention-writer.ts";
import { RunReader } from "../runs/sqlite/run-reader.ts";
import { RunWriter } from "../runs/sqlite/run-writer.ts";
import { QueueReviewReader } from "../queues/queue-review-reader.ts";
import { QueueReviewWriter } from "../queues/queue-review-writer.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { SqliteDatabase } from "../storage/sqlite/sqlite-database.ts";
import { ShareReader } from "../shares/share-reader.ts";
import { ShareWriter } from "../shares/share-writer.ts";
import { StepSize } from "../storage/sqlite/step-size.ts";
import { StorageReader } from "../storage/sqlite/storage-reader.ts";
import { TenantKeys, TenantKeyWriter } from "../storage/sqlite/tenant-keys.ts";
import { TenantReader } from "../tenants/tenant-reader.ts";
import { scopeReaders, scopeWriters } from "./tenant-scope.ts";
import { TenantWriter } from "../tenants/tenant-writer.ts";
import { TraceReader } from "../runs/sqlite/trace-reader.ts";
import { TextIndexWriter } from "../runs/sqlite/text-index/text-index-writer.ts";
import { UploadWriter } from "../datasets/imports/upload-writer.ts";

/** Creates the readers of all resources, on a read-only connection. */
export function createReaders(db: Connection): Readers {
  const database = new SqliteDatabase(db);
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
    projects: new ProjectReader(database),
    prompts: new PromptReader(database),
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

/** The writers as the writer thread calls them: some methods return a long write. */
type WriteSteps = Omit<Writers, "projects"> & { readonly projects: ProjectWriteSteps };

/** Creates the writers of all resources, on the only connection that writes. The caller manages transactions. */
export function createWriters(db: Connection) {
  const database = new SqliteDatabase(db);
  const keys = new TenantKeyWriter(db);
  const steps = new StepSize();
  const runProjects = new SqliteRunProjects(db, keys, steps);
  const feedback = new FeedbackWriter(db, keys);
  const datasetDependencies = createDatasetWriteDependencies(db, keys);
  const examples = new ExampleWriter(datasetDependencies);
  const largeExamples = new LargeExampleWriter(datasetDependencies, examples);
  const scoped = {
    annotationQueues: new AnnotationQueueWriter(db),
    comparatives: new ComparativeWriter(db),
    feedback,
    projects: new ProjectWriter(database, keys, runProjects),
    prompts: new PromptWriter(database),
    queueReviews: new QueueReviewWriter(db),
    retention: new RetentionWriter(db, steps),
    shares: new ShareWriter(db),
    tenants: new TenantWriter(db),
    datasets: new DatasetWriter(datasetDependencies, largeExamples),
    examples,
    largeExamples,
    uploads: new UploadWriter(datasetDependencies),
  };
  const requestable = {
    ...scopeWriters(scoped, keys),
    runs: new RunWriter(db, { projects: runProjects, feedback, keys }),
  } satisfies WriteSteps;
  // The others are internal: no request can call them.
  return {
    ...requestable,
    textIndex: new TextIndexWriter(db),
    schemas: datasetDependencies.schemas,
    steps,
  };
}

export type SqliteWriters = ReturnType<typeof createWriters>;
