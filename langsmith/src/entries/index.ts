import { version } from "millrace";
import { getCurrentRunTree } from "../tracing/current-run.ts";
import { isEnvTracingEnabled } from "../environment.ts";
import { createUnsupportedError } from "../unsupported.ts";

export { Client } from "../client/client.ts";
export type { LangSmithTracingClientInterface } from "../client/client.ts";
export type { ClientConfig } from "../client/client-config.ts";
export {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  LangsmithError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from "../client/errors.ts";
export {
  configureGlobalPromptCache,
  promptCacheSingleton,
  PromptCache,
  PromptCache as Cache,
} from "../client/prompt-cache.ts";
export type { CacheConfig, CacheMetrics } from "../client/prompt-cache.ts";
export { getDefaultProjectName } from "../environment.ts";
export { UnsupportedError } from "../unsupported.ts";
export type {
  Dataset,
  Example,
  Feedback,
  FeedbackConfigSchema,
  RetrieverOutput,
  Run,
  TracerSession,
} from "../schemas.ts";
export { RunTree } from "../tracing/run-tree.ts";
export type { RunTreeConfig, WriteReplica } from "../tracing/run-tree.ts";
export { uuid7, uuid7FromTime } from "../uuid7.ts";
export {
  AgentAddress,
  APIPromise,
  EnvAddressError,
  EvaluatorAddress,
  ExperimentAddress,
  Langsmith,
  PagePromise,
  toFile,
} from "../unsupported-names.ts";
export type { Address, ApiAddress, Environment } from "../unsupported-names.ts";
// oxlint-disable-next-line import/no-default-export -- langsmith has this default export
export { Langsmith as default } from "../unsupported-names.ts";

/** The version of this package. */
export const __version__: string = version;

/** The key of the metadata that hides a run from one view of langsmith's UI. */
export const LS_MESSAGE_VIEW_EXCLUDE = "ls_message_view_exclude";

/** Whether runs are recorded. The current run decides this; without one, the environment variables do. */
export const isTracingEnabled = (): boolean =>
  getCurrentRunTree(true)?.tracingEnabled ?? isEnvTracingEnabled();

/** Not supported. */
export function overrideFetchImplementation(_fetch: unknown): never {
  throw createUnsupportedError(
    "overrideFetchImplementation",
    "Worker threads send the requests; set the proxy options of docs/options.md.",
  );
}

/** Not supported. */
export function computeRunIdForSecondaryReplica(_runId: string, _projectName: string): never {
  throw createUnsupportedError(
    "computeRunIdForSecondaryReplica",
    "A run is written once, by its client.",
  );
}
