/// <reference types="node" preserve="true" />
export { Client, flush } from "./client.ts";
export type { ClientOptions, TimeLimit } from "./client.ts";
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
export type { DatasetCatalog } from "../api/dataset-catalog.ts";
export type { ClonedDataset } from "../api/dataset-clone.ts";
export type { DatasetHistory } from "../api/dataset-history.ts";
export type { DatasetKey, VersionKey } from "../api/dataset-key.ts";
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
} from "../api/dataset-options.ts";
export type { Datasets } from "../api/datasets.ts";
export type {
  ChatMessage,
  CreateChatExample,
  CreateExample,
  CreateExamples,
  CreatedExamples,
  DeleteExamples,
  ExampleChanges,
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
} from "../api/example-options.ts";
export type { Examples } from "../api/examples.ts";
export type {
  CompareExperiments,
  CreateComparative,
  Experiments,
  ListComparative,
} from "../api/experiments.ts";
export type { CallOptions } from "../api/http.ts";
export { Pages } from "../api/pages.ts";
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
  ListCommits,
  ListPrompts,
  PromptFields,
  PromptSortField,
  PullPrompt,
  PushPrompt,
  PushedPrompt,
  TagPrompt,
  UpdatePrompt,
} from "../api/prompt-options.ts";
export type { Prompts } from "../api/prompts.ts";
export type { RunFilter } from "../api/run-filter.ts";
export type { FilterRuns, ListRuns, ReadRun, Runs } from "../api/runs.ts";
export type { ByteSource } from "../api/streamed-bodies.ts";
export type { Tenant } from "../api/tenant.ts";
export { setDefaultClient } from "../tracing/default-client.ts";
export { currentRun, withRun } from "../tracing/context.ts";
export type { StartOptions } from "../tracing/context.ts";
export { toRunnableConfig } from "../tracing/langchain-handler.ts";
export type { RunnableConfig } from "../tracing/langchain-handler.ts";
export type { ProcessPayload } from "../tracing/call-recording.ts";
export type { RecordedRun, Recorder, TracingClient, WarningKind } from "../tracing/recorder.ts";
export type { HeadersLike, RemotePlace } from "../tracing/propagation.ts";
export type { EndOptions, RunOptions } from "../tracing/run-options.ts";
export { RunTree } from "../tracing/new-run-tree.ts";
export type { RunInit, RunTree as RecordedRunTree } from "../tracing/run-tree.ts";
export type {
  FromHeadersOptions,
  NewRunOptions,
  RunTreeConstructor,
} from "../tracing/new-run-tree.ts";
export { traceable } from "../tracing/traceable.ts";
export type { TraceableFunction, TraceableOptions } from "../tracing/traceable.ts";
export { compressions } from "../model/connection.ts";
export type { Compression } from "../model/connection.ts";
export { repeatedContents } from "../model/repeated-content.ts";
export type { RepeatedContent } from "../model/repeated-content.ts";
export {
  AbortError,
  AnswerError,
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
export { dataTypes } from "../model/dataset.ts";
export type { DataType, Dataset } from "../model/dataset.ts";
export type { DatasetShare } from "../model/dataset-share.ts";
export type { DatasetDiff, DatasetVersion } from "../model/dataset-version.ts";
export type { Attachment } from "../model/attachment-answer.ts";
export type { RunAttachment, RunAttachments } from "../model/attachment.ts";
export type { Example } from "../model/example.ts";
export type {
  ComparativeExperiment,
  ComparedExperiment,
  ComparedRun,
  Comparison,
} from "../model/experiment.ts";
export type { AttachmentOptions } from "../model/attachment-options.ts";
export type { Durability, KeepingOptions, OverflowPolicy } from "../model/keeping-options.ts";
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
} from "../model/upload.ts";
export { logLevels } from "../model/log-level.ts";
export type { LogLevel } from "../model/log-level.ts";
export type { ConnectionOptions } from "../model/connection-options.ts";
export type { Hide, PlainOptions } from "../model/option-table.ts";
export type { RedactionKeys, RedactionPattern, RedactionRule } from "../model/redaction.ts";
export type { RedactionSet } from "../model/redaction-sets.ts";
export type {
  AnnotationQueue,
  AnnotationQueueEntry,
  QueuedRun,
  RubricItem,
} from "../model/annotation-queue.ts";
export type {
  Feedback,
  FeedbackConfig,
  FeedbackSource,
  FeedbackSourceType,
  FeedbackToken,
} from "../model/feedback.ts";
export type { Project } from "../model/project.ts";
export type { Prompt, PromptCommit, PromptTag, PulledPrompt } from "../model/prompt.ts";
export type { PromptPlace } from "../model/prompt-identifier.ts";
export type { Run, RunField } from "../model/run-answer.ts";
export type { RunShare } from "../model/run-share.ts";
export type { RunStats } from "../model/run-stats.ts";
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
export type { ServerInfo } from "../model/server-info.ts";
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
export type { TenantSettings } from "../model/tenant.ts";
export type {
  BlockingArg,
  BlockingArgs,
  BlockingNoun,
  BlockingNouns,
  BlockingOptions,
  BlockingResult,
  Uncrossable,
} from "../sync/mirror.ts";
export type { Nouns } from "./nouns.ts";
export type { SyncNouns } from "./sync.ts";
export { version } from "../model/version.ts";
