import { AlertRepository } from "../../alerts/alert-repository.ts";
import { AuditRepository } from "../../audit/audit-repository.ts";
import type { AuditWrites } from "../../audit/audit.ts";
import { CommentRepository } from "../../comments/comment-repository.ts";
import { DatasetReader } from "../../datasets/dataset-reader.ts";
import { DatasetWriter } from "../../datasets/dataset-writer.ts";
import { ExampleReader } from "../../datasets/examples/example-reader.ts";
import { ExampleWriter } from "../../datasets/examples/example-writer.ts";
import { PostgresExampleTextIndex } from "../../datasets/examples/postgres/example-index.ts";
import { PostgresExampleSearch } from "../../datasets/examples/postgres/example-search.ts";
import { PostgresExampleWriteEngine } from "../../datasets/examples/postgres/example-write-engine.ts";
import { PostgresLargeExampleWriter } from "../../datasets/examples/postgres/large-example-writer.ts";
import { SchemaChecks } from "../../datasets/examples/schemas/schema-checks.ts";
import { CurrentAuthor } from "../../datasets/version-author.ts";
import { UploadWriter } from "../../datasets/imports/upload-writer.ts";
import { ComparativeReader } from "../../experiments/comparative-reader.ts";
import { ComparativeWriter } from "../../experiments/comparative-writer.ts";
import { FeedbackReader } from "../../feedback/feedback-reader.ts";
import { FeedbackTrendReader } from "../../feedback/feedback-trend.ts";
import { FeedbackWriter } from "../../feedback/feedback-writer.ts";
import { JobReader, JobWriter } from "../../jobs/job-repository.ts";
import { SpendingRepository } from "../../models/spending-repository.ts";
import { PriceReader, PriceWriter } from "../../prices/price-repository.ts";
import { ProjectReader } from "../../projects/project-reader.ts";
import { ProjectWriter } from "../../projects/project-writer.ts";
import { PromptReader } from "../../prompts/prompt-reader.ts";
import { PromptWriter } from "../../prompts/prompt-writer.ts";
import { AnnotationQueueReader } from "../../queues/annotation-queue-reader.ts";
import { AnnotationQueueWriter } from "../../queues/annotation-queue-writer.ts";
import { QueueReviewReader } from "../../queues/queue-review-reader.ts";
import { QueueReviewWriter } from "../../queues/queue-review-writer.ts";
import { RuleReader } from "../../rules/rule-reader.ts";
import { RuleRepository } from "../../rules/rule-repository.ts";
import { RetentionRules } from "../../runs/retention/retention-rules.ts";
import { RetentionWriter } from "../../runs/retention/retention-writer.ts";
import { ShareReader } from "../../shares/share-reader.ts";
import { ShareWriter } from "../../shares/share-writer.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { RowKeys } from "../../storage/row-keys.ts";
import type { TokenCipher } from "../../storage/share-token.ts";
import { IngestCountRepository } from "../../tenants/ingest-counts.ts";
import { TenantReader } from "../../tenants/tenant-reader.ts";
import { TenantWriter } from "../../tenants/tenant-writer.ts";
import { ViewRepository } from "../../views/view-repository.ts";
import { WebhookRepository } from "../../webhooks/webhook-repository.ts";
import type { Readers, Writers } from "../repositories.ts";
import type { RunEngine, RunEngineWriter } from "./run-engine.ts";

interface RepositoryDependencies {
  readonly runs: RunEngine;
  readonly tokenCipher: TokenCipher;
}

/** A repository of each resource. Whether a method returns a promise, or a long write, depends on the resource. */
type Repositories<Resources> = { readonly [Resource in keyof Resources]: object };

/** On PostgreSQL the keys of all tables begin with the tenant, so that tenants may use the same ids. */
const plainKeys: RowKeys = {
  keyOf: (_kind, _tenantId, id) => id,
  assignQualifiedKey: (_kind, _tenantId, id) => id,
};

/** Creates the readers of all resources on one connection. */
export function createPostgresReaders(
  db: PostgresDatabase,
  { runs, tokenCipher }: RepositoryDependencies,
): Repositories<Readers> {
  const parts = runs.createReadParts(db);
  const feedback = new FeedbackReader(db, tokenCipher, parts.filteredFeedback);
  const webhooks = new WebhookRepository(db, tokenCipher);
  return {
    ...runs.createReaders(db, { feedback, tokenCipher, checkLimit: () => undefined }),
    alerts: new AlertRepository(db, webhooks),
    annotationQueues: new AnnotationQueueReader(db),
    audit: new AuditRepository(db),
    comments: new CommentRepository(db),
    comparatives: new ComparativeReader(db),
    datasets: new DatasetReader(db, tokenCipher),
    examples: new ExampleReader(db, { tokenCipher, search: new PostgresExampleSearch(db) }),
    feedback,
    feedbackTrend: new FeedbackTrendReader(db),
    jobs: new JobReader(db),
    ingestCounts: new IngestCountRepository(db),
    modelSpending: new SpendingRepository(db),
    prices: new PriceReader(db),
    projects: new ProjectReader(db),
    prompts: new PromptReader(db),
    queueReviews: new QueueReviewReader(db),
    retention: new RetentionRules(db),
    rules: new RuleReader(db, parts.roots),
    shares: new ShareReader(db, tokenCipher),
    tenants: new TenantReader(db),
    views: new ViewRepository(db),
    webhooks,
  };
}

/** The repositories that write to PostgreSQL, and what a write shares with them. */
export interface PostgresWriters {
  readonly resources: Repositories<Writers>;
  readonly runEngine: RunEngineWriter;
  /** The schema checks of the running write. */
  readonly schemas: SchemaChecks;
  /** The author of the running write. */
  readonly author: CurrentAuthor;
  /** The audit log, which also receives entries for the writes of other resources. */
  readonly audit: AuditWrites;
}

/** Creates the writers of all resources on one connection. The caller manages transactions. */
export function createPostgresWriters(
  db: PostgresDatabase,
  { runs, tokenCipher }: RepositoryDependencies,
): PostgresWriters {
  const schemaChecks = new SchemaChecks();
  const author = new CurrentAuthor();
  const audit = new AuditRepository(db);
  const runEngine = runs.createWriter(db, { tokenCipher });
  const feedback = new FeedbackReader(db, tokenCipher, runs.createReadParts(db).filteredFeedback);
  const runReader = runs.createReaders(db, {
    feedback,
    tokenCipher,
    checkLimit: () => undefined,
  }).runs;
  const webhooks = new WebhookRepository(db, tokenCipher);
  const engine = new PostgresExampleWriteEngine(db, {
    tokenCipher,
    author,
    findRunFile: async (tenantId, runId, name) => {
      const run = await runReader.find(tenantId, runId);
      return (
        run && runReader.findFile(tenantId, { traceId: run.row.traceId, runId: run.row.id, name })
      );
    },
  });
  const exampleDependencies = { keys: plainKeys, tokenCipher, schemaChecks, engine, author };
  const examples = new ExampleWriter(db, exampleDependencies);
  const largeExamples = new PostgresLargeExampleWriter(db, {
    tokenCipher,
    schemaChecks,
    engine,
    examples,
  });
  const resources: Repositories<Writers> = {
    alerts: new AlertRepository(db, webhooks),
    annotationQueues: new AnnotationQueueWriter(db),
    audit,
    comments: new CommentRepository(db),
    comparatives: new ComparativeWriter(db),
    datasets: new DatasetWriter(db, {
      keys: plainKeys,
      tokenCipher,
      schemaChecks,
      examples: largeExamples,
      index: new PostgresExampleTextIndex(db),
      author,
    }),
    examples,
    feedback: new FeedbackWriter(db, plainKeys, tokenCipher),
    jobs: new JobWriter(db),
    largeExamples,
    ingestCounts: new IngestCountRepository(db),
    modelSpending: new SpendingRepository(db),
    prices: new PriceWriter(db, {
      runs: runEngine.costs,
      onChange: () => runEngine.clearCaches(),
    }),
    projects: new ProjectWriter(db, plainKeys, runEngine.projectRuns),
    prompts: new PromptWriter(db),
    queueReviews: new QueueReviewWriter(db),
    retention: new RetentionWriter(db, runEngine.retention),
    rules: new RuleRepository(db, runEngine.roots),
    runs: runEngine.runs,
    shares: new ShareWriter(db, tokenCipher),
    tenants: new TenantWriter(db),
    uploads: new UploadWriter(db, exampleDependencies),
    views: new ViewRepository(db),
    webhooks,
  };
  return { resources, runEngine, schemas: schemaChecks, author, audit };
}
