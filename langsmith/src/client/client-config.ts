import { omitUndefined } from "../omit-undefined.ts";
import type { ClientOptions, Hide } from "millrace";
import { OptionError } from "millrace";
import { readVariable, warnOnce } from "../environment.ts";
import { warnOfUnknownOptions } from "../unknown-options.ts";
import type { OptionTable } from "../unknown-options.ts";
import { createUnsupportedError } from "../unsupported.ts";
import type { KVMap } from "../schemas.ts";
import type { PromptCache } from "./prompt-cache.ts";

type Filter = boolean | ((values: KVMap) => KVMap | Promise<KVMap>);

/** The options of `new Client()`. */
export interface ClientConfig {
  apiUrl?: string;
  apiKey?: string;
  callerOptions?: { maxConcurrency?: number; maxRetries?: number; [name: string]: unknown };
  timeout_ms?: number;
  webUrl?: string;
  anonymizer?: (values: KVMap) => KVMap | Promise<KVMap>;
  hideInputs?: Filter;
  hideOutputs?: Filter;
  hideMetadata?: Filter;
  omitTracedRuntimeInfo?: boolean;
  autoBatchTracing?: boolean;
  batchSizeBytesLimit?: number;
  batchSizeLimit?: number;
  maxIngestMemoryBytes?: number;
  blockOnRootRunFinalization?: boolean;
  traceBatchConcurrency?: number;
  fetchOptions?: RequestInit;
  manualFlushMode?: boolean;
  tracingSamplingRate?: number;
  debug?: boolean;
  workspaceId?: string;
  fetchImplementation?: typeof fetch;
  disablePromptCache?: boolean;
  tracingMode?: "langsmith" | "otel";
  headers?: Record<string, string>;
  cache?: boolean | PromptCache;
  profile?: string;
  profileConfigPath?: string;
  preferProfileAuth?: boolean;
}

const clientOptions: OptionTable<ClientConfig> = {
  apiUrl: true,
  apiKey: true,
  callerOptions: true,
  timeout_ms: true,
  webUrl: true,
  anonymizer: true,
  hideInputs: true,
  hideOutputs: true,
  hideMetadata: true,
  omitTracedRuntimeInfo: true,
  autoBatchTracing: true,
  batchSizeBytesLimit: true,
  batchSizeLimit: true,
  maxIngestMemoryBytes: true,
  blockOnRootRunFinalization: true,
  traceBatchConcurrency: true,
  fetchOptions: true,
  manualFlushMode: true,
  tracingSamplingRate: true,
  debug: true,
  workspaceId: true,
  fetchImplementation: true,
  disablePromptCache: true,
  tracingMode: true,
  headers: true,
  cache: true,
  profile: true,
  profileConfigPath: true,
  preferProfileAuth: true,
};

/** The options that have no effect, each with the reason. A program that passes one gets a warning once. */
const withoutEffect: Readonly<Record<string, string>> = {
  autoBatchTracing: "runs are always sent in batches, by worker threads",
  batchSizeBytesLimit: "the server sets the largest size of a request",
  batchSizeLimit: "the server sets the largest number of runs in a request",
  blockOnRootRunFinalization:
    "worker threads send the runs and block nothing; to wait for them, await client.flush()",
  manualFlushMode: "runs are also sent without a flush",
  fetchImplementation:
    "requests are sent by worker threads; see the proxy options in docs/options.md",
  profile: "keys are not read from profiles; pass apiUrl and apiKey, or set the variables",
  profileConfigPath:
    "keys are not read from profiles; pass apiUrl and apiKey, or set the variables",
  preferProfileAuth:
    "keys are not read from profiles; pass apiUrl and apiKey, or set the variables",
  omitTracedRuntimeInfo: "the runtime is recorded with each run",
};

/** Whether the value of an option without effect describes what Millrace does anyway. */
const isDefault = (name: string, value: unknown): boolean =>
  value === undefined ||
  (name === "autoBatchTracing" && value === true) ||
  (name !== "autoBatchTracing" && value === false);

/** Converts langsmith's options to Millrace's. */
export function toClientOptions(config: ClientConfig): ClientOptions {
  warnOfUnknownOptions("Client", config, clientOptions);
  for (const [name, reason] of Object.entries(withoutEffect)) {
    if (!isDefault(name, Reflect.get(config, name))) {
      warnOnce(`The client option ${name} has no effect: ${reason}.`);
    }
  }
  if (config.tracingMode === "otel" || readVariable("TRACING_MODE")?.toLowerCase() === "otel") {
    throw createUnsupportedError(
      'tracingMode: "otel"',
      "Pass the option `otlp` to the Client of `millrace` to send runs as spans.",
    );
  }
  if (readVariable("RUNS_ENDPOINTS")) {
    warnOnce(
      "LANGSMITH_RUNS_ENDPOINTS has no effect: runs are sent to one server, LANGSMITH_ENDPOINT.",
    );
  }
  const { callerOptions, timeout_ms: timeoutMs, anonymizer } = config;
  const headers = { ...readHeaders(config.fetchOptions?.headers), ...config.headers };
  return omitUndefined({
    endpoint: config.apiUrl?.replace(/\/+$/, ""),
    apiKey: config.apiKey,
    workspaceId: config.workspaceId,
    timeoutMs,
    attempts: callerOptions?.maxRetries === undefined ? undefined : callerOptions.maxRetries + 1,
    requestsInFlight: config.traceBatchConcurrency ?? toCount(callerOptions?.maxConcurrency),
    maxQueueBytes: config.maxIngestMemoryBytes,
    samplingRate: config.tracingSamplingRate,
    logLevel: config.debug === true ? "debug" : undefined,
    hideInputs: toHide("hideInputs", config.hideInputs ?? anonymizer),
    hideOutputs: toHide("hideOutputs", config.hideOutputs ?? anonymizer),
    hideMetadata: toHide("hideMetadata", config.hideMetadata ?? anonymizer),
    headers: Object.keys(headers).length === 0 ? undefined : headers,
  });
}

/** Returns `undefined` for an infinite number, which means in langsmith that there is no limit. */
const toCount = (count: number | undefined): number | undefined =>
  count === undefined || Number.isFinite(count) ? count : undefined;

function toHide(name: string, filter: Filter | undefined): Hide | undefined {
  if (filter === undefined || typeof filter === "boolean") {
    return filter;
  }
  if (Object.getPrototypeOf(filter) === AsyncFunction.prototype) {
    throw new OptionError(
      `The client option ${name} (or anonymizer) must be a synchronous function, because values are recorded during the call. Use a traced function's processInputs and processOutputs, which may be asynchronous.`,
    );
  }
  return (values) => filter({ ...values }) as KVMap;
}

const AsyncFunction = (async () => {}).constructor;

function readHeaders(headers: RequestInit["headers"]): Record<string, string> {
  return headers === undefined ? {} : Object.fromEntries(new Headers(headers));
}
