export { Client } from "../client/client.ts";
export {
  _checkBackendVersion,
  AutoBatchQueue,
  DEFAULT_MAX_SIZE_BYTES,
  DEFAULT_UNCOMPRESSED_BATCH_SIZE_LIMIT_BYTES,
  Langsmith,
  mergeRuntimeEnvIntoRun,
} from "../unsupported-names.ts";
export type { LangSmithTracingClientInterface } from "../client/client.ts";
export type { ClientConfig } from "../client/client-config.ts";
export type { CreateExampleOptions } from "../client/example-methods.ts";
export type {
  CreateFeedbackLegacyOptions,
  CreateFeedbackOptions,
  CreateFeedbackParams,
  FeedbackSourceType,
} from "../client/feedback-methods.ts";
export type { CreateProjectParams } from "../client/project-methods.ts";
export type {
  ListThreadsItem,
  ListThreadsParams,
  ReadThreadParams,
} from "../client/run-methods.ts";
