export { Client } from "./client.ts";
export type { ClientOptions, StartRunOptions, TimeLimit } from "./client.ts";
export { currentRun, withRun } from "../tracing/context.ts";
export { RunTree } from "../tracing/run-tree.ts";
export type { EndOptions, RunOptions } from "../tracing/run-options.ts";
export { traceable } from "../tracing/traceable.ts";
export {
  CertificateError,
  ClosedError,
  HttpError,
  InsufficientQuotaError,
  NetworkError,
  OptionError,
  SdkError,
  TimeoutError,
  ValidationError,
} from "../model/errors.ts";
export type { Hide } from "../model/option-table.ts";
export type { ErrorCode } from "../model/errors.ts";
export type { ClientStats, FlushResult, Logger, LossReason, Quantiles } from "../model/stats.ts";
export type { KeyValues, RunEvent, RunType, WirePatch, WireRun } from "../model/run.ts";
export { version } from "../model/version.ts";
