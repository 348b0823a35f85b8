/// <reference types="node" preserve="true" />
export { Client, flush } from "./client.ts";
export type { ClientOptions } from "./client.ts";
export type { TimeLimit } from "./time-limit.ts";
export type {
  AddRuns,
  AnnotationQueueFields,
  CreateAnnotationQueue,
  ListAnnotationQueues,
  ListQueuedRuns,
  ReadQueuedRun,
  RemoveQueuedRun,
  ReviewStatus,
  RunKey,
  UpdateAnnotationQueue,
  UpdateQueuedRun,
} from "../api/annotation-queue-input.ts";
export type { AnnotationQueues } from "../api/annotation-queues.ts";
export type { Expiration, ExpiresIn } from "../api/feedback-expiry.ts";
export type {
  CreateFeedback,
  CreateFeedbackToken,
  FeedbackFields,
  FeedbackTarget,
  FeedbackTokenRequest,
  ListFeedback,
  TokenOptions,
  UpdateFeedback,
} from "../api/feedback-input.ts";
export type { Feedbacks } from "../api/feedback.ts";
export type { ClonedDataset } from "../api/datasets/dataset-clone.ts";
export type { DatasetKey, VersionKey } from "../api/datasets/dataset-key.ts";
export type {
  CloneDataset,
  CreateDataset,
  CreateDatasetFromCsv,
  DatasetAsOf,
  DatasetCall,
  DiffDataset,
  FilterSharedExamples,
  IndexDataset,
  ListDatasetVersions,
  ListDatasets,
  ListSharedExamples,
  ReadDatasetVersion,
  SearchDataset,
  TagDataset,
  UpdateDataset,
  UpdateDatasetSplits,
} from "../api/datasets/dataset-options.ts";
export type { Datasets } from "../api/datasets/datasets.ts";
export type {
  ChatMessage,
  CreateChatExample,
  CreateExample,
  CreateExamples,
  CreatedExamples,
  DeleteExamples,
  ExampleChanges,
  ExampleContent,
  ExampleUpdate,
  FilterExamples,
  LangChainMessage,
  ListExamples,
  NewAttachment,
  NewAttachments,
  NewExample,
  ReadExample,
  UpdateExample,
  UpdateExamples,
} from "../api/datasets/example-options.ts";
export type { Examples } from "../api/datasets/examples.ts";
export type {
  CompareExperiments,
  CreateComparative,
  Experiments,
  ListComparative,
} from "../api/experiments.ts";
export type { CallOptions } from "../api/http/http.ts";
export { Pages } from "../api/http/pages.ts";
export type {
  CreateProject,
  ListProjects,
  ProjectKey,
  Projects,
  ReadProject,
  UpdateProject,
} from "../api/projects.ts";
export type {
  CommitPrompt,
  CreatePrompt,
  GetPrompt,
  ListCommits,
  ListPrompts,
  PromptFields,
  PromptSortField,
  PullPrompt,
  PushPrompt,
  PushedPrompt,
  TagPrompt,
  UpdatePrompt,
} from "../api/prompts/prompt-options.ts";
export type { Prompts } from "../api/prompts/prompts.ts";
export type { RunFilter } from "../api/runs/run-filter.ts";
export type { FilterRuns, ListRuns, ReadRun, Runs } from "../api/runs/runs.ts";
export type { CreateView, UpdateView, View, ViewFields, ViewKey, Views } from "../api/views.ts";
export type { ByteSource } from "../api/http/streamed-bodies.ts";
export type { Tenant } from "../api/tenant.ts";
export { setDefaultClient } from "../tracing/runs/default-client.ts";
export { currentRun, withRun } from "../tracing/runs/context.ts";
export { addRunSource } from "../tracing/runs/run-sources.ts";
export type { RunSource } from "../tracing/runs/run-sources.ts";
export { onFlush } from "../tracing/runs/flush-listeners.ts";
export type { FlushEvent, FlushListener } from "../tracing/runs/flush-listeners.ts";
export { enterModelCall, isInModelCall, markModelCall } from "../tracing/runs/model-calls.ts";
export { toSpanUuid, toTraceUuid } from "../model/span-ids.ts";
export type { StartOptions } from "../tracing/runs/context.ts";
export type { AggregateChunks, ProcessPayload } from "../tracing/runs/call-recording.ts";
export { recordExchange } from "../tracing/runs/new-exchange.ts";
export type { NewExchangeOptions } from "../tracing/runs/new-exchange.ts";
export type {
  ExchangeBytes,
  ExchangeEnd,
  ExchangeOptions,
  ExchangeResponse,
  ExchangeRun,
} from "../tracing/runs/exchange-run.ts";
export { exchangeFormats } from "../model/records/exchange.ts";
export type { ExchangeEnding, ExchangeFormat } from "../model/records/exchange.ts";
export type {
  RecordedRun,
  Recorder,
  TracingClient,
  WarningKind,
} from "../tracing/tape/recorder.ts";
export type { HeadersLike, RemotePosition } from "../tracing/runs/propagation.ts";
export type { EndOptions, RunOptions } from "../tracing/runs/run-options.ts";
export { RunTree } from "../tracing/runs/new-run-tree.ts";
export type { RunInit, RunTree as RecordedRunTree } from "../tracing/runs/run-tree.ts";
export type {
  FromHeadersOptions,
  NewRunOptions,
  RunTreeConstructor,
} from "../tracing/runs/new-run-tree.ts";
export type { ClientChoice } from "../tracing/runs/default-client.ts";
export { traceable } from "../tracing/runs/traceable.ts";
export type { TraceableFunction, TraceableOptions } from "../tracing/runs/traceable.ts";
export { compressions } from "../model/options/connection.ts";
export type { Compression } from "../model/options/connection.ts";
export { contentDeduplications } from "../model/options/content-deduplication.ts";
export type { ContentDeduplicationMode } from "../model/options/content-deduplication.ts";
export {
  AbortError,
  ResponseError,
  CertificateError,
  ClosedError,
  ConflictError,
  HttpError,
  IncompleteError,
  InsufficientQuotaError,
  NetworkError,
  NotFoundError,
  OptionError,
  SdkError,
  TimeoutError,
  UploadError,
  ValidationError,
  WorkerError,
} from "../model/errors.ts";
export type {
  ErrorCode,
  HttpErrorInit,
  IncompleteErrorInit,
  SdkErrorOptions,
  UploadErrorInit,
} from "../model/errors.ts";
export { dataTypes } from "../model/resources/dataset.ts";
export type { DataType, Dataset } from "../model/resources/dataset.ts";
export type { DatasetShare } from "../model/resources/dataset-share.ts";
export type { DatasetDiff, DatasetVersion } from "../model/resources/dataset-version.ts";
export type { Attachment } from "../model/resources/attachment-response.ts";
export type { RunAttachment, RunAttachments } from "../model/records/attachment.ts";
export type { Example } from "../model/resources/example.ts";
export type {
  ComparativeExperiment,
  ComparedExperiment,
  ComparedRun,
  Comparison,
} from "../model/resources/experiment.ts";
export type { AttachmentOptions } from "../model/options/attachment-options.ts";
export type {
  Durability,
  KeepingOptions,
  OverflowPolicy,
} from "../model/options/keeping-options.ts";
export type {
  RowId,
  UploadExamples,
  UploadFeedback,
  UploadRuns,
  UploadStream,
} from "../api/uploads.ts";
export type {
  Checkpoint,
  RejectedRow,
  UploadProgress,
  UploadResult,
  UploadSettings,
  UploadSource,
} from "../model/resources/upload.ts";
export { logLevels } from "../model/options/log-level.ts";
export type { LogLevel } from "../model/options/log-level.ts";
export type { ConnectionOptions } from "../model/options/connection-options.ts";
export { otlpConventions } from "../model/options/otlp-options.ts";
export type { OtlpConvention, OtlpOptions } from "../model/options/otlp-options.ts";
export type { Hide, PlainOptions } from "../model/options/option-table.ts";
export type { RuntimePromptOptions } from "../model/options/prompt-options.ts";
export type { RedactionKeys, RedactionPattern, RedactionRule } from "../model/options/redaction.ts";
export type { RedactionSet } from "../model/options/redaction-sets.ts";
export type {
  AnnotationQueue,
  AnnotationQueueEntry,
  QueuedRun,
  RubricItem,
} from "../model/resources/annotation-queue.ts";
export type {
  Feedback,
  FeedbackConfig,
  FeedbackSource,
  FeedbackSourceType,
  FeedbackToken,
} from "../model/resources/feedback.ts";
export type { Project } from "../model/resources/project.ts";
export type { Prompt, PromptCommit, PromptTag, PulledPrompt } from "../model/resources/prompt.ts";
export { promptSources } from "../model/resources/runtime-prompt.ts";
export type {
  PromptSource,
  PromptSourceCounts,
  RuntimePrompt,
} from "../model/resources/runtime-prompt.ts";
export type { PromptPath } from "../model/resources/prompt-identifier.ts";
export type { Run, RunField, SelectedRun } from "../model/resources/run-response.ts";
export type { RunShare } from "../model/resources/run-share.ts";
export type { RunStats } from "../model/resources/run-stats.ts";
export { runTypes } from "../model/run.ts";
export type {
  KeyValues,
  RunEvent,
  RunExtra,
  RunMembers,
  RunType,
  WirePatch,
  WirePost,
  WireRun,
} from "../model/run.ts";
export type { ServerInfo } from "../model/resources/server-info.ts";
export { lossReasons } from "../model/stats.ts";
export type {
  ClientStats,
  DeliveryFailure,
  FlushCount,
  FlushResult,
  Logger,
  LossReason,
  Quantiles,
} from "../model/stats.ts";
export type { TenantSettings } from "../model/resources/tenant.ts";
export type {
  BlockingArg,
  BlockingArgs,
  BlockingResource,
  BlockingResources,
  BlockingOptions,
  BlockingResult,
  NonTransferable,
} from "../api/sync/sync-facade.ts";
export type { Resources } from "./resources.ts";
export type { SyncResources } from "./sync.ts";
export { version } from "../model/version.ts";
