import { AlertRepository } from "../alerts/alert-repository.ts";
import { alertTables } from "../alerts/alert-tables.ts";
import type { AlertReads, AlertWrites } from "../alerts/alert.ts";
import { AuditRepository, auditTables } from "../audit/audit-repository.ts";
import type { AuditReads, AuditWrites } from "../audit/audit.ts";
import { AnnotationQueueReader } from "../queues/annotation-queue-reader.ts";
import { AnnotationQueueWriter } from "../queues/annotation-queue-writer.ts";
import { CommentRepository } from "../comments/comment-repository.ts";
import { commentTables } from "../comments/comment-tables.ts";
import type { CommentReads, CommentWrites } from "../comments/comment.ts";
import { ComparativeReader } from "../experiments/comparative-reader.ts";
import { ComparativeWriter } from "../experiments/comparative-writer.ts";
import { experimentTables } from "../experiments/sqlite/experiment-tables.ts";
import { ExperimentReader } from "../experiments/sqlite/experiment-reader.ts";
import { FeedbackReader } from "../feedback/feedback-reader.ts";
import { FeedbackTrendReader } from "../feedback/feedback-trend.ts";
import { FeedbackWriter } from "../feedback/feedback-writer.ts";
import { SqliteFilteredFeedback } from "../feedback/sqlite/filtered-feedback.ts";
import { SqliteRunFeedback } from "../feedback/sqlite/run-feedback.ts";
import type { AnnotationQueueReads, AnnotationQueueWrites } from "../queues/annotation-queue.ts";
import type { ComparativeReads, ComparativeWrites } from "../experiments/comparative.ts";
import type { ExperimentReads } from "../experiments/experiment.ts";
import type { FeedbackReads, FeedbackWrites } from "../feedback/feedback.ts";
import type { FeedbackTrendReads } from "../feedback/feedback-trend.ts";
import { CurrentAuthor } from "../datasets/version-author.ts";
import { versionAuthorColumn } from "../datasets/dataset-tables.ts";
import type { DatasetReads, DatasetWrites } from "../datasets/dataset.ts";
import type { ExampleReads, ExampleWrites } from "../datasets/examples/example.ts";
import type { LargeExampleWrites } from "../datasets/examples/large-examples.ts";
import type { ProjectReads, ProjectWrites } from "../projects/project.ts";
import type { PromptReads, PromptWrites } from "../prompts/prompt.ts";
import type { QueueReviewReads, QueueReviewWrites } from "../queues/queue-review.ts";
import type { RunListReads } from "../runs/run-list.ts";
import type { RunPageReads } from "../runs/run-pages.ts";
import type { RetentionReads, RetentionWrites } from "../runs/retention/retention.ts";
import type { RunReads, RunWrites } from "../runs/run-query.ts";
import type { ShareReads, ShareWrites } from "../shares/share.ts";
import type { StorageReads } from "../storage/storage-use.ts";
import type { TenantReads, TenantWrites } from "../tenants/tenant.ts";
import type { TraceReads } from "../runs/trace.ts";
import type { UploadWrites } from "../datasets/imports/upload.ts";
import { createDatasetWriteDependencies } from "../datasets/examples/sqlite/dataset-writing.ts";
import { DatasetReader } from "../datasets/dataset-reader.ts";
import { DatasetWriter } from "../datasets/dataset-writer.ts";
import type { DatasetWriteSteps } from "../datasets/dataset-writer.ts";
import { SqliteDatasetExamplesWriter } from "../datasets/examples/sqlite/dataset-examples.ts";
import { ExampleReader } from "../datasets/examples/example-reader.ts";
import { SqliteExampleSearch } from "../datasets/examples/sqlite/text-search.ts";
import { ExampleWriter } from "../datasets/examples/example-writer.ts";
import type { ExampleWriteSteps } from "../datasets/examples/example-writer.ts";
import { SqliteExampleWriteEngine } from "../datasets/examples/sqlite/example-write-engine.ts";
import { LargeExampleWriter } from "../datasets/examples/sqlite/large-example-writer.ts";
import type { LargeExampleWriteSteps } from "../datasets/examples/sqlite/large-example-writer.ts";
import { ProjectReader } from "../projects/project-reader.ts";
import { ProjectWriter } from "../projects/project-writer.ts";
import type { ProjectWriteSteps } from "../projects/project-writer.ts";
import { SqliteRunProjects } from "../projects/sqlite/run-projects.ts";
import { PriceReader, PriceWriter } from "../prices/price-repository.ts";
import type { PriceReads, PriceWrites } from "../prices/price.ts";
import { priceTables } from "../prices/price-tables.ts";
import { createThreadFacetIndex } from "../runs/tables/run-facet-tables.ts";
import { earlyCountRepairs } from "../runs/tables/run-list-tables.ts";
import { sqliteMeasureIndexes } from "../runs/tables/run-measure-tables.ts";
import { sharedTextTables, SqliteSharedTexts } from "../runs/shared-texts/sqlite-shared-texts.ts";
import { RunPricer } from "../prices/run-pricer.ts";
import { readPriceRows } from "../prices/sqlite/read-price-rows.ts";
import { CostRecomputer } from "../runs/sqlite/cost-recomputer.ts";
import { PromptReader } from "../prompts/prompt-reader.ts";
import { PromptWriter } from "../prompts/prompt-writer.ts";
import { RunListReader } from "../runs/sqlite/run-list-reader.ts";
import { RunPageReader } from "../runs/serializers/run-page-reader.ts";
import { RuleReader } from "../rules/rule-reader.ts";
import { RuleRepository } from "../rules/rule-repository.ts";
import { ruleTables } from "../rules/rule-tables.ts";
import type { RuleReads, RuleWrites } from "../rules/rule.ts";
import { EndedRoots } from "../rules/sqlite/ended-roots.ts";
import { RetentionRules } from "../runs/retention/retention-rules.ts";
import { RetentionWriter } from "../runs/retention/retention-writer.ts";
import { SqliteExpiredRuns } from "../runs/retention/sqlite/expired-runs.ts";
import { RunReader } from "../runs/sqlite/run-reader.ts";
import { RunWriter } from "../runs/sqlite/run-writer.ts";
import { QueueReviewReader } from "../queues/queue-review-reader.ts";
import { QueueReviewWriter } from "../queues/queue-review-writer.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { SqliteDatabase } from "../storage/sqlite/sqlite-database.ts";
import { ShareReader } from "../shares/share-reader.ts";
import { ShareWriter } from "../shares/share-writer.ts";
import { StepSize } from "../storage/sqlite/step-size.ts";
import { StorageSizeReader } from "../storage/sqlite/storage-size-reader.ts";
import { TenantKeys, TenantKeyWriter } from "../storage/sqlite/tenant-keys.ts";
import { tokenKeysOf } from "../storage/sqlite/token-keys.ts";
import { IngestCountRepository, ingestCountTables } from "../tenants/ingest-counts.ts";
import type { IngestCountReads, IngestCountWrites } from "../tenants/ingest-counts.ts";
import { TenantReader } from "../tenants/tenant-reader.ts";
import { keyScopeColumn } from "../tenants/tenant-tables.ts";
import {
  scopeToTenants,
  unchanged,
  scopedByToken,
  withRunKey,
  withProjectKey,
  withDatasetKey,
  withThreadKey,
  toRunFilter,
  toExampleChange,
  replaceMembers,
} from "./tenant-scope.ts";
import type { ArgumentTable } from "./tenant-scope.ts";
import { TenantWriter } from "../tenants/tenant-writer.ts";
import { TraceReader } from "../runs/sqlite/trace-reader.ts";
import { ThreadReader } from "../threads/sqlite/thread-reader.ts";
import type { ThreadReads } from "../threads/thread.ts";
import { JobReader, JobWriter } from "../jobs/job-repository.ts";
import { jobTables } from "../jobs/job-tables.ts";
import type { JobReads, JobWrites } from "../jobs/job.ts";
import { MetricMarker } from "../metrics/sqlite/metric-marker.ts";
import { MetricReader } from "../metrics/sqlite/metric-reader.ts";
import { metricTables, traceFirstTokenMarks } from "../metrics/sqlite/metric-tables.ts";
import { MetricWriter } from "../metrics/sqlite/metric-writer.ts";
import type { MetricReads } from "../metrics/metrics.ts";
import { SpendingRepository, spendingTables } from "../models/spending-repository.ts";
import type { SpendingReads, SpendingWrites } from "../models/spending-repository.ts";
import { TextIndexWriter } from "../runs/sqlite/text-index/text-index-writer.ts";
import { ViewRepository, viewTables } from "../views/view-repository.ts";
import type { ViewReads, ViewWrites } from "../views/view-repository.ts";
import { WebhookRepository } from "../webhooks/webhook-repository.ts";
import { previousSecretColumns, webhookTables } from "../webhooks/webhook-tables.ts";
import type { WebhookReads, WebhookWrites } from "../webhooks/webhook.ts";
import { UploadWriter } from "../datasets/imports/upload-writer.ts";

// All resources that the server stores. Each resource is listed in the interfaces and functions below. The tables at
// the end contain an entry for each method of a resource; the compiler reports an error if an entry is missing.

/**
 * SQL that creates the tables of resources that are newer than the formats in `schema.ts`. Each entry is one further
 * version of the database format, so entries may only be appended.
 */
export const addedTables: readonly string[] = [
  viewTables,
  priceTables,
  metricTables,
  jobTables,
  keyScopeColumn,
  spendingTables,
  `${webhookTables}${ruleTables}${alertTables}`,
  experimentTables,
  `${commentTables}${previousSecretColumns}${versionAuthorColumn}`,
  auditTables,
  ingestCountTables,
  sharedTextTables,
  sqliteMeasureIndexes,
  traceFirstTokenMarks,
  earlyCountRepairs,
  createThreadFacetIndex,
];

/** All queries, by resource. A reader thread runs one of them at a time. */
export interface Readers {
  readonly alerts: AlertReads;
  readonly annotationQueues: AnnotationQueueReads;
  readonly comments: CommentReads;
  readonly audit: AuditReads;
  readonly comparatives: ComparativeReads;
  readonly feedback: FeedbackReads;
  readonly ingestCounts: IngestCountReads;
  readonly metrics: MetricReads;
  readonly modelSpending: SpendingReads;
  readonly feedbackTrend: FeedbackTrendReads;
  readonly datasets: DatasetReads;
  readonly examples: ExampleReads;
  readonly experiments: ExperimentReads;
  readonly jobs: JobReads;
  readonly prices: PriceReads;
  readonly projects: ProjectReads;
  readonly prompts: PromptReads;
  readonly queueReviews: QueueReviewReads;
  readonly retention: RetentionReads;
  readonly rules: RuleReads;
  readonly runs: RunReads;
  readonly runLists: RunListReads;
  readonly runPages: RunPageReads;
  readonly shares: ShareReads;
  readonly storage: StorageReads;
  readonly tenants: TenantReads;
  readonly threads: ThreadReads;
  readonly traces: TraceReads;
  readonly views: ViewReads;
  readonly webhooks: WebhookReads;
}

/**
 * All writes, by resource. Each call takes effect as a whole or not at all: a call that throws has changed nothing,
 * and a `RequestError` thrown in it reaches the caller unchanged.
 */
export interface Writers {
  readonly alerts: AlertWrites;
  readonly annotationQueues: AnnotationQueueWrites;
  readonly comments: CommentWrites;
  readonly audit: AuditWrites;
  readonly comparatives: ComparativeWrites;
  readonly feedback: FeedbackWrites;
  readonly datasets: DatasetWrites;
  readonly examples: ExampleWrites;
  readonly largeExamples: LargeExampleWrites;
  readonly ingestCounts: IngestCountWrites;
  readonly modelSpending: SpendingWrites;
  readonly uploads: UploadWrites;
  readonly jobs: JobWrites;
  readonly prices: PriceWrites;
  readonly projects: ProjectWrites;
  readonly prompts: PromptWrites;
  readonly queueReviews: QueueReviewWrites;
  readonly retention: RetentionWrites;
  readonly rules: RuleWrites;
  readonly runs: RunWrites;
  readonly shares: ShareWrites;
  readonly tenants: TenantWrites;
  readonly views: ViewWrites;
  readonly webhooks: WebhookWrites;
}

/** Creates the readers of all resources, on a read-only connection. */
export function createReaders(db: Connection): Readers {
  const database = new SqliteDatabase(db);
  const keys = new TenantKeys(db);
  const runs = new RunReader(db, keys);
  const experiments = new ExperimentReader(db, { runs });
  const feedback = new FeedbackReader(database, tokenKeysOf(db), new SqliteFilteredFeedback(db));
  const webhooks = new WebhookRepository(database, tokenKeysOf(db));
  const readers = {
    alerts: new AlertRepository(database, webhooks),
    datasets: new DatasetReader(database, tokenKeysOf(db)),
    examples: new ExampleReader(database, {
      tokenCipher: tokenKeysOf(db),
      search: new SqliteExampleSearch(database),
    }),
    experiments,
    annotationQueues: new AnnotationQueueReader(database),
    comments: new CommentRepository(database),
    audit: new AuditRepository(database),
    comparatives: new ComparativeReader(database),
    feedback,
    feedbackTrend: new FeedbackTrendReader(database),
    jobs: new JobReader(database),
    prices: new PriceReader(database),
    projects: new ProjectReader(database),
    prompts: new PromptReader(database),
    queueReviews: new QueueReviewReader(database),
    runs,
    runLists: new RunListReader(db, runs),
    retention: new RetentionRules(database),
    rules: new RuleReader(database, new EndedRoots(db)),
    shares: new ShareReader(database, tokenKeysOf(db)),
    storage: new StorageSizeReader(db),
    tenants: new TenantReader(database),
    metrics: new MetricReader(db),
    modelSpending: new SpendingRepository(database),
    ingestCounts: new IngestCountRepository(database),
    threads: new ThreadReader(db, { runs, usage: experiments, feedback }),
    traces: new TraceReader(db),
    views: new ViewRepository(database),
    webhooks,
  };
  const scopedReaders = scopeToTenants<ScopedReaders>(readers, keys, readerArguments);
  return { ...scopedReaders, runPages: new RunPageReader(scopedReaders, () => db.checkLimit()) };
}

/** The writers as the writer thread calls them: some methods return a long write. */
type WriteSteps = Omit<Writers, "datasets" | "examples" | "largeExamples" | "projects"> & {
  readonly datasets: DatasetWriteSteps;
  readonly examples: ExampleWriteSteps;
  readonly largeExamples: LargeExampleWriteSteps;
  readonly projects: ProjectWriteSteps;
};

/** Creates the writers of all resources, on the only connection that writes. The caller manages transactions. */
export function createWriters(db: Connection) {
  const database = new SqliteDatabase(db);
  const keys = new TenantKeyWriter(db);
  const stepSize = new StepSize();
  const runProjects = new SqliteRunProjects(db, keys, stepSize);
  const prices = new RunPricer(readPriceRows(db));
  const metrics = new MetricMarker(db);
  const author = new CurrentAuthor();
  const datasetDependencies = createDatasetWriteDependencies(db, keys, author);
  const largeExamples = new LargeExampleWriter(datasetDependencies);
  const exampleDependencies = {
    keys,
    tokenCipher: tokenKeysOf(db),
    schemaChecks: datasetDependencies.schemaChecks,
    author,
    engine: new SqliteExampleWriteEngine(datasetDependencies),
  };
  const webhooks = new WebhookRepository(database, tokenKeysOf(db));
  const scopedWriters = {
    alerts: new AlertRepository(database, webhooks),
    annotationQueues: new AnnotationQueueWriter(database),
    comments: new CommentRepository(database),
    audit: new AuditRepository(database),
    comparatives: new ComparativeWriter(database),
    feedback: new FeedbackWriter(database, keys, tokenKeysOf(db)),
    jobs: new JobWriter(database),
    ingestCounts: new IngestCountRepository(database),
    modelSpending: new SpendingRepository(database),
    prices: new PriceWriter(database, {
      runs: new CostRecomputer(db, prices, metrics),
      onChange: () => prices.clearCache(),
    }),
    projects: new ProjectWriter(database, keys, runProjects),
    prompts: new PromptWriter(database),
    queueReviews: new QueueReviewWriter(database),
    retention: new RetentionWriter(database, {
      runs: new SqliteExpiredRuns(db, stepSize),
      sharedTexts: new SqliteSharedTexts(db),
    }),
    rules: new RuleRepository(database, new EndedRoots(db)),
    shares: new ShareWriter(database, tokenKeysOf(db)),
    tenants: new TenantWriter(database),
    views: new ViewRepository(database),
    webhooks,
    datasets: new DatasetWriter(database, {
      keys,
      tokenCipher: tokenKeysOf(db),
      schemaChecks: datasetDependencies.schemaChecks,
      examples: new SqliteDatasetExamplesWriter(datasetDependencies, largeExamples),
      index: datasetDependencies.textIndex,
      author,
    }),
    examples: new ExampleWriter(database, exampleDependencies),
    largeExamples,
    uploads: new UploadWriter(database, exampleDependencies),
  };
  const requestableWriters = {
    ...scopeToTenants(scopedWriters, keys, writerArguments),
    runs: new RunWriter(db, {
      projects: runProjects,
      feedback: new SqliteRunFeedback(db, keys),
      keys,
      prices,
      metrics,
    }),
  } satisfies WriteSteps;
  // The members that are added here are internal: no request can call them.
  return {
    ...requestableWriters,
    textIndex: new TextIndexWriter(db),
    metrics: new MetricWriter(db),
    schemas: datasetDependencies.schemaChecks,
    author,
    stepSize,
  };
}

/** The repositories that write to SQLite. */
export type SqliteWriters = ReturnType<typeof createWriters>;

/** All readers except `runPages`. `runPages` calls the other readers, which already replace ids by keys. */
type ScopedReaders = Omit<Readers, "runPages">;

/** For each query, replaces the ids in its arguments by the keys under which rows are stored. */
const readerArguments: ArgumentTable<ScopedReaders> = {
  alerts: { list: withProjectKey, listHistory: unchanged, listActive: unchanged },
  annotationQueues: {
    find: unchanged,
    list: ([tenantId, query], { toDatasetKey, toRunKey }) => [
      tenantId,
      replaceMembers(query, { defaultDatasetId: toDatasetKey, runId: toRunKey }),
    ],
    listEntries: unchanged,
    countEntries: unchanged,
    readLastAdded: ([tenantId, ids], { toRunKeys }) => [tenantId, toRunKeys(ids)],
  },
  comments: {
    list: ([tenantId, target, page], { toRunKey }) => [
      tenantId,
      replaceMembers(target, { runId: toRunKey }),
      page,
    ],
    // Rows store ids of traces, not keys.
    countInTrace: unchanged,
    countInDataset: ([tenantId, datasetId], { toDatasetKey }) => [
      tenantId,
      toDatasetKey(datasetId),
    ],
  },
  audit: { list: unchanged },
  comparatives: {
    list: ([tenantId, query], { toDatasetKey }) => [
      tenantId,
      replaceMembers(query, { datasetId: toDatasetKey }),
    ],
  },
  feedback: {
    find: unchanged,
    list: ([tenantId, query], { toRunKeys, toProjectKeys }) => [
      tenantId,
      replaceMembers(query, { runIds: toRunKeys, projectIds: toProjectKeys }),
    ],
    readStatsOfRuns: ([tenantId, ids, ...rest], { toRunKeys }) => [
      tenantId,
      toRunKeys(ids),
      ...rest,
    ],
    readStatsOfFilter: ([tenantId, filter], keys) => [tenantId, toRunFilter(filter, keys)],
    statsOfProjectRuns: ([tenantId, ids], { toProjectKeys }) => [tenantId, toProjectKeys(ids)],
    statsOfProjects: ([tenantId, ids], { toProjectKeys }) => [tenantId, toProjectKeys(ids)],
    statsOfComparatives: unchanged,
    findToken: scopedByToken,
    listTokens: withRunKey,
  },
  feedbackTrend: {
    read: ([tenantId, query], { toProjectKey }) => [
      tenantId,
      replaceMembers(query, { projectId: toProjectKey }),
    ],
  },
  datasets: {
    find: withDatasetKey,
    list: ([tenantId, query], { toDatasetKeys }) => [
      tenantId,
      replaceMembers(query, { ids: toDatasetKeys }),
    ],
    findShared: scopedByToken,
    findVersion: withDatasetKey,
    listVersions: withDatasetKey,
    countVersions: withDatasetKey,
    diff: withDatasetKey,
    diffPage: withDatasetKey,
    readVersionAuthor: withDatasetKey,
  },
  examples: {
    find: unchanged,
    list: ([tenantId, query], { toDatasetKey }) => [
      tenantId,
      replaceMembers(query, {
        filter: (filter) => replaceMembers(filter, { datasetId: toDatasetKey }),
      }),
    ],
    preview: ([tenantId, query, chars], { toDatasetKey }) => [
      tenantId,
      replaceMembers(query, {
        filter: (filter) => replaceMembers(filter, { datasetId: toDatasetKey }),
      }),
      chars,
    ],
    count: ([tenantId, filter], { toDatasetKey }) => [
      tenantId,
      replaceMembers(filter, { datasetId: toDatasetKey }),
    ],
    page: ([tenantId, query], { toDatasetKey }) => [
      tenantId,
      replaceMembers(query, { datasetId: toDatasetKey }),
    ],
    findDatasetId: unchanged,
    // The arguments contain ids of source runs. Rows of examples store these ids, not keys, so nothing is replaced.
    listSources: unchanged,
    listSplits: withDatasetKey,
    search: ([tenantId, query], { toDatasetKey }) => [
      tenantId,
      replaceMembers(query, { datasetId: toDatasetKey }),
    ],
    findBlob: unchanged,
  },
  experiments: {
    compare: ([tenantId, query], { toProjectKey, toProjectKeys }) => [
      tenantId,
      replaceMembers(query, { experimentIds: toProjectKeys, baselineId: toProjectKey }),
    ],
    readRuns: ([tenantId, query], { toProjectKeys }) => [
      tenantId,
      replaceMembers(query, { experimentIds: toProjectKeys }),
    ],
    measureOutputTokens: ([tenantId, ids], { toProjectKeys }) => [tenantId, toProjectKeys(ids)],
    readUsageOfTraces: unchanged,
  },
  jobs: { list: unchanged, find: unchanged, hasActive: unchanged },
  ingestCounts: { read: unchanged },
  modelSpending: { read: unchanged },
  prices: {
    list: unchanged,
    listLibrary: unchanged,
    priceCall: unchanged,
    readModelCalls: unchanged,
  },
  projects: {
    find: withProjectKey,
    list: ([tenantId, query], { toProjectKeys, toDatasetKeys }) => [
      tenantId,
      replaceMembers(query, { ids: toProjectKeys, referenceDatasetIds: toDatasetKeys }),
    ],
  },
  prompts: {
    find: unchanged,
    list: unchanged,
    listCommits: unchanged,
    pull: unchanged,
    listTags: unchanged,
    readTag: unchanged,
  },
  queueReviews: { listRuns: unchanged, readProgress: unchanged },
  retention: { list: unchanged },
  // The background calls for all tenants have no tenant in their arguments, and their results contain ids.
  rules: {
    list: withProjectKey,
    find: unchanged,
    listActive: unchanged,
    scanRoots: unchanged,
    listDue: unchanged,
    listWaitingJudges: unchanged,
    findDue: unchanged,
  },
  runs: {
    find: withRunKey,
    query: ([tenantId, query], keys) => [
      tenantId,
      replaceMembers(query, {
        filter: (filter) => toRunFilter(filter, keys),
        after: (after) => replaceMembers(after, { id: keys.toRunKey }),
      }),
    ],
    readStatistics: ([tenantId, filter], keys) => [tenantId, toRunFilter(filter, keys)],
    readProjectStatistics: ([tenantId, query], { toProjectKey }) => [
      tenantId,
      replaceMembers(query, { projectId: toProjectKey }),
    ],
    findShared: scopedByToken,
    findFile: ([tenantId, file], { toRunKey }) => [
      tenantId,
      replaceMembers(file, { runId: toRunKey }),
    ],
  },
  runLists: {
    search: ([tenantId, search], keys) => [
      tenantId,
      replaceMembers(search, {
        projectId: keys.toProjectKey,
        filter: (filter) => toRunFilter(filter, keys),
        after: (after) => replaceMembers(after, { id: keys.toRunKey }),
      }),
    ],
    readStartTimeRange: withProjectKey,
    countRuns: ([tenantId, query], { toProjectKey }) => [
      tenantId,
      replaceMembers(query, { projectId: toProjectKey }),
    ],
    countMatches: ([tenantId, search, widthMicros], keys) => [
      tenantId,
      replaceMembers(search, {
        projectId: keys.toProjectKey,
        filter: (filter) => toRunFilter(filter, keys),
        after: (after) => replaceMembers(after, { id: keys.toRunKey }),
      }),
      widthMicros,
    ],
    countFacets: ([tenantId, search], keys) => [
      tenantId,
      replaceMembers(search, {
        projectId: keys.toProjectKey,
        filter: (filter) => toRunFilter(filter, keys),
        after: (after) => replaceMembers(after, { id: keys.toRunKey }),
      }),
    ],
    listSuggestions: ([tenantId, query], { toProjectKey }) => [
      tenantId,
      replaceMembers(query, { projectId: toProjectKey }),
    ],
  },
  shares: {
    find: scopedByToken,
    findTraceTokens: ([tenantId, ids], { toRunKeys }) => [tenantId, toRunKeys(ids)],
    findThreadToken: withThreadKey,
  },
  storage: {
    measure: unchanged,
    listProjects: unchanged,
    countRuns: unchanged,
    measureRuns: unchanged,
  },
  tenants: {
    find: unchanged,
    findByHandle: unchanged,
    list: unchanged,
    findByKey: unchanged,
    hasKeys: unchanged,
    listKeys: unchanged,
  },
  metrics: {
    read: ([tenantId, query], keys) => [
      tenantId,
      replaceMembers(query, {
        projectId: keys.toProjectKey,
        filter: (filter) => toRunFilter(filter, keys),
      }),
    ],
    readOverview: unchanged,
  },
  threads: {
    list: ([tenantId, query], { toProjectKey }) => [
      tenantId,
      replaceMembers(query, { projectId: toProjectKey }),
    ],
    readTurns: ([tenantId, query], { toProjectKey }) => [
      tenantId,
      replaceMembers(query, { projectId: toProjectKey }),
    ],
  },
  traces: {
    readPage: ([tenantId, query], { toRunKey }) => [
      tenantId,
      replaceMembers(query, { afterId: toRunKey }),
    ],
    readUsage: unchanged,
  },
  views: {
    list: withProjectKey,
    find: ([tenantId, key], { toProjectKey }) => [
      tenantId,
      replaceMembers(key, { projectId: toProjectKey }),
    ],
  },
  webhooks: {
    list: unchanged,
    find: unchanged,
    listDeliveries: unchanged,
    findDelivery: unchanged,
    readTarget: unchanged,
    listDue: unchanged,
  },
};

/**
 * All writers except `runs`. The writer of runs replaces ids by keys itself, because batches of runs are not stored
 * through a method call whose arguments could be replaced here.
 */
type ScopedWriters = Omit<Writers, "runs">;

/** For each write, replaces the ids in its arguments by the keys under which rows are stored. */
const writerArguments: ArgumentTable<ScopedWriters> = {
  alerts: {
    create: withProjectKey,
    update: unchanged,
    delete: unchanged,
    record: unchanged,
  },
  annotationQueues: {
    create: ([tenantId, draft], { toDatasetKey }) => [
      tenantId,
      replaceMembers(draft, { defaultDatasetId: toDatasetKey }),
    ],
    update: ([tenantId, id, changes], { toDatasetKey }) => [
      tenantId,
      id,
      replaceMembers(changes, { defaultDatasetId: toDatasetKey }),
    ],
    delete: unchanged,
    addRuns: ([tenantId, id, runs], { toRunKey, toProjectKey }) => [
      tenantId,
      id,
      runs.map((entry) => replaceMembers(entry, { runId: toRunKey, projectId: toProjectKey })),
    ],
    updateRun: unchanged,
    removeRun: unchanged,
  },
  comments: {
    create: ([tenantId, draft], { toRunKey }) => [
      tenantId,
      replaceMembers(draft, {
        target: (target) => replaceMembers(target, { runId: toRunKey }),
      }),
    ],
    update: unchanged,
    delete: unchanged,
  },
  audit: { record: unchanged, removeExpired: unchanged },
  comparatives: {
    create: ([tenantId, draft], { toProjectKeys, toDatasetKey }) => [
      tenantId,
      replaceMembers(draft, { experimentIds: toProjectKeys, datasetId: toDatasetKey }),
    ],
  },
  // Feedback also arrives in batches of runs, so its ids are replaced where it is stored.
  feedback: { create: unchanged, update: unchanged, delete: unchanged, createTokens: unchanged },
  datasets: {
    create: unchanged,
    update: ([tenantId, id, changes], keys) => [
      tenantId,
      keys.toDatasetKey(id),
      replaceMembers(changes, {
        exampleChanges: (changed) => changed.map((example) => toExampleChange(example, keys)),
      }),
    ],
    deleteMany: ([tenantId, ids], { toDatasetKeys }) => [tenantId, toDatasetKeys(ids)],
    sweep: unchanged,
    share: withDatasetKey,
    unshare: withDatasetKey,
    tag: withDatasetKey,
    beginIndex: withDatasetKey,
    extendIndex: withDatasetKey,
  },
  examples: {
    create: ([tenantId, drafts], { toDatasetKey }) => [
      tenantId,
      drafts.map((draft) => replaceMembers(draft, { datasetId: toDatasetKey })),
    ],
    check: withDatasetKey,
    update: ([tenantId, exampleChanges, datasetId], keys) => {
      const changes = exampleChanges.map((change) => toExampleChange(change, keys));
      return datasetId === undefined
        ? [tenantId, changes]
        : [tenantId, changes, keys.toDatasetKey(datasetId)];
    },
    deleteMany: unchanged,
  },
  largeExamples: {
    // The examples in `parts` are still packed, so the ids in them are replaced after unpacking.
    create: unchanged,
    update: ([tenantId, parts, datasetId], keys) =>
      datasetId === undefined ? [tenantId, parts] : [tenantId, parts, keys.toDatasetKey(datasetId)],
    import: withDatasetKey,
    updateSplits: withDatasetKey,
  },
  uploads: { begin: unchanged, extend: withDatasetKey, end: withDatasetKey, drop: withDatasetKey },
  // Parameters of jobs contain ids, which the steps of a job pass to other resources.
  jobs: {
    create: unchanged,
    cancel: unchanged,
    retry: unchanged,
    claim: unchanged,
    record: unchanged,
    renew: unchanged,
    releaseAll: unchanged,
    removeEnded: unchanged,
  },
  ingestCounts: { set: unchanged },
  modelSpending: { reserve: unchanged, settle: unchanged },
  prices: { set: unchanged, remove: unchanged, recompute: unchanged },
  projects: {
    create: ([tenantId, draft], { toDatasetKey }) => [
      tenantId,
      replaceMembers(draft, { referenceDatasetId: toDatasetKey }),
    ],
    update: withProjectKey,
    delete: withProjectKey,
    deleteMany: ([tenantId, ids], { toProjectKeys }) => [tenantId, toProjectKeys(ids)],
  },
  prompts: {
    create: unchanged,
    update: unchanged,
    delete: unchanged,
    deleteMany: unchanged,
    like: unchanged,
    commit: unchanged,
    writeTag: unchanged,
    deleteTag: unchanged,
    count: unchanged,
  },
  queueReviews: { claim: unchanged, release: unchanged, finish: unchanged, reopen: unchanged },
  retention: {
    set: ([tenantId, rule], { toProjectKey }) => [
      tenantId,
      replaceMembers(rule, { projectId: toProjectKey }),
    ],
    clear: ([tenantId, id], { toProjectKey }) => [tenantId, id === null ? null : toProjectKey(id)],
    sweep: unchanged,
  },
  rules: {
    create: withProjectKey,
    update: unchanged,
    delete: unchanged,
    beginPast: unchanged,
    endPast: unchanged,
    retry: unchanged,
    pause: unchanged,
    advance: unchanged,
    advancePast: unchanged,
    record: unchanged,
    prune: unchanged,
  },
  shares: {
    shareTrace: withRunKey,
    unshareTrace: withRunKey,
    shareThread: withThreadKey,
    unshareThread: withThreadKey,
  },
  tenants: { create: unchanged, setHandle: unchanged, createKey: unchanged, revokeKey: unchanged },
  views: {
    create: withProjectKey,
    update: ([tenantId, key, changes], { toProjectKey }) => [
      tenantId,
      replaceMembers(key, { projectId: toProjectKey }),
      changes,
    ],
    delete: ([tenantId, key], { toProjectKey }) => [
      tenantId,
      replaceMembers(key, { projectId: toProjectKey }),
    ],
  },
  webhooks: {
    create: unchanged,
    update: unchanged,
    updateSecret: unchanged,
    delete: unchanged,
    enqueue: unchanged,
    resend: unchanged,
    record: unchanged,
  },
};
