import { compressions } from "./connection.ts";
import type { Compression } from "./connection.ts";
import { attachmentOptionRows } from "./attachment-options.ts";
import type { AttachmentOptions } from "./attachment-options.ts";
import { connectionOptionRows } from "./connection-options.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import { keepingOptionRows } from "./keeping-options.ts";
import type { KeepingOptions } from "./keeping-options.ts";
import { logLevels } from "./log-level.ts";
import type { LogLevel } from "./log-level.ts";
import { toMillraceVariables, toLangsmithVariables } from "./option-row.ts";
import type { OptionRow } from "./option-row.ts";
import { promptOptionRows } from "./prompt-options.ts";
import type { RuntimePromptOptions } from "./prompt-options.ts";
import type { RedactionRule } from "./redaction.ts";
import { contentDeduplications } from "./content-deduplication.ts";
import type { ContentDeduplicationMode } from "./content-deduplication.ts";
import type { KeyValues } from "../run.ts";

/**
 * What to hide in a payload: `true` for everything, or a function that returns what may be
 * recorded. The function is called once per value. It must return synchronously and must not change
 * its argument.
 */
export type Hide = boolean | ((value: KeyValues) => KeyValues);

/** The options that can also come from environment variables: numbers, texts and switches. */
export interface PlainOptions
  extends KeepingOptions, AttachmentOptions, ConnectionOptions, RuntimePromptOptions {
  readonly enabled: boolean;
  readonly endpoint: string;
  readonly apiKey: string | undefined;
  readonly workspaceId: string | undefined;
  readonly projectName: string;
  readonly timeoutMs: number;
  readonly syncTimeoutMs: number;
  readonly maxResponseBytes: number;
  readonly batchLimit: number;
  readonly firstDelayMs: number;
  readonly aggregationDelayMs: number;
  readonly maxDelayMs: number;
  readonly attempts: number;
  readonly retryAfterLimitMs: number;
  readonly tapeBytes: number;
  readonly workers: number;
  readonly workerStallMs: number;
  readonly requestsInFlight: number;
  readonly compression: Compression;
  readonly contentDeduplication: ContentDeduplicationMode;
  readonly exitTimeoutMs: number;
  readonly drainTimeoutMs: number;
  readonly samplingRate: number;
  readonly reportStats: boolean;
  readonly logLevel: LogLevel;
  readonly logRepeatMs: number;
  readonly hideInputs: Hide;
  readonly hideOutputs: Hide;
  readonly hideMetadata: Hide;
  readonly redact: readonly RedactionRule[];
  readonly recursionLimit: number;
}

/**
 * All options of the client: default, range, environment variables and description. This table is
 * their only definition.
 */
export const optionTable: { readonly [Name in keyof PlainOptions]: OptionRow } = {
  enabled: {
    kind: "switch",
    fallback: true,
    env: [...toLangsmithVariables("TRACING"), "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2"],
    doc: "Whether anything is recorded. A variable with the value false takes precedence over `enabled: true`; one with the value true enables tracing without a client. See tracing.md.",
  },
  endpoint: {
    kind: "text",
    fallback: "http://localhost:1984",
    format: "address",
    failClosed: "sendNothing",
    env: toLangsmithVariables("ENDPOINT"),
    doc: "Base URL of the server, http or https, optionally with a path.",
  },
  apiKey: {
    kind: "text",
    fallback: undefined,
    format: "token",
    isSecret: true,
    failClosed: "sendNothing",
    env: toLangsmithVariables("API_KEY"),
    doc: "Key sent in the header x-api-key; never logged.",
  },
  workspaceId: {
    kind: "text",
    fallback: undefined,
    format: "token",
    failClosed: "sendNothing",
    env: toLangsmithVariables("WORKSPACE_ID"),
    doc: "Workspace sent in the header x-tenant-id, for keys with access to several workspaces.",
  },
  projectName: {
    kind: "text",
    fallback: "default",
    env: [...toLangsmithVariables("PROJECT"), "LANGCHAIN_SESSION"],
    doc: "Project of runs that name no project.",
  },
  timeoutMs: {
    kind: "number",
    fallback: 12_000,
    min: 1,
    max: 600_000,
    env: toMillraceVariables("TIMEOUT_MS"),
    doc: "Longest wait for one response of the server, in milliseconds.",
  },
  syncTimeoutMs: {
    kind: "number",
    fallback: 120_000,
    min: 1,
    max: 3_600_000,
    env: toMillraceVariables("SYNC_TIMEOUT_MS"),
    doc: "Longest time that a call of client.sync blocks, including all attempts and pages, in milliseconds.",
  },
  maxResponseBytes: {
    kind: "number",
    fallback: 268_435_456,
    min: 65_536,
    max: 1_073_741_824,
    env: toMillraceVariables("MAX_RESPONSE_BYTES"),
    doc: "Largest response that an API call reads as a whole, such as a page of runs, in bytes. A larger one throws a ResponseError. Streamed responses are not limited.",
  },
  batchLimit: {
    kind: "number",
    fallback: 100,
    min: 1,
    max: 1_000_000,
    env: toMillraceVariables("BATCH_LIMIT"),
    doc: "Number of queued records that are sent immediately after a quiet period, without waiting for firstDelayMs. The server determines how many a request contains.",
  },
  firstDelayMs: {
    kind: "number",
    fallback: 250,
    min: 0,
    max: 60_000,
    env: toMillraceVariables("FIRST_DELAY_MS"),
    doc: "After a period without records: milliseconds to wait for further records before the first one is sent.",
  },
  aggregationDelayMs: {
    kind: "number",
    fallback: 50,
    min: 0,
    max: 60_000,
    env: toMillraceVariables("AGGREGATION_DELAY_MS"),
    doc: "During continuous traffic: milliseconds to wait for further records at first. The wait doubles with each request, up to maxDelayMs. Later records do not extend it.",
  },
  maxDelayMs: {
    kind: "number",
    fallback: 1_000,
    min: 0,
    max: 60_000,
    env: toMillraceVariables("MAX_DELAY_MS"),
    doc: "During continuous traffic: longest time in milliseconds to wait for further records. A full tape, a flush and the end of the process do not wait.",
  },
  attempts: {
    kind: "number",
    fallback: 6,
    min: 1,
    max: 100,
    env: toMillraceVariables("ATTEMPTS"),
    doc: "Maximum number of attempts to send a batch of runs or to make an API call, including the first.",
  },
  retryAfterLimitMs: {
    kind: "number",
    fallback: 60_000,
    min: 0,
    max: 3_600_000,
    env: toMillraceVariables("RETRY_AFTER_LIMIT_MS"),
    doc: "Longest wait that a server can request with Retry-After, in milliseconds.",
  },
  ...keepingOptionRows,
  ...attachmentOptionRows,
  tapeBytes: {
    kind: "number",
    fallback: 1_048_576,
    min: 4_096,
    max: 268_435_456,
    env: toMillraceVariables("TAPE_BYTES"),
    doc: "Size in bytes of one tape, the buffer that is passed to a worker. A larger record gets its own tape.",
  },
  workers: {
    kind: "number",
    fallback: 1,
    min: 0,
    max: 64,
    env: toMillraceVariables("WORKERS"),
    doc: "Worker threads that serialize and send; with 0 the main thread does it.",
  },
  workerStallMs: {
    kind: "number",
    fallback: 30_000,
    min: 500,
    max: 3_600_000,
    env: toMillraceVariables("WORKER_STALL_MS"),
    doc: "Milliseconds for which a worker's event loop may be blocked, as by an endless loop, before the worker is replaced. Waiting for the server does not block it.",
  },
  requestsInFlight: {
    kind: "number",
    fallback: 8,
    min: 1,
    max: 1_024,
    env: toMillraceVariables("REQUESTS_IN_FLIGHT"),
    doc: "Maximum number of requests in flight, for all workers together; also the maximum number of tapes that are being sent.",
  },
  compression: {
    kind: "choice",
    fallback: "auto",
    choices: compressions,
    env: toMillraceVariables("COMPRESSION"),
    doc: "Compression of request bodies, if the server supports it. auto does not compress for loopback addresses.",
  },
  contentDeduplication: {
    kind: "choice",
    fallback: "inline",
    choices: contentDeduplications,
    env: toMillraceVariables("REPEATED_CONTENT"),
    doc: "Whether content that appears repeatedly in a trace is sent each time (inline), or once and then referenced by its digest (once), to Millrace servers. See content-deduplication.md.",
  },
  exitTimeoutMs: {
    kind: "number",
    fallback: 1_000,
    min: 0,
    max: 60_000,
    env: toMillraceVariables("EXIT_TIMEOUT_MS"),
    doc: "Longest time in milliseconds that a forced process end (process.exit, uncaught exception, signal) waits for delivery.",
  },
  drainTimeoutMs: {
    kind: "number",
    fallback: 30_000,
    min: 0,
    max: 600_000,
    env: toMillraceVariables("DRAIN_TIMEOUT_MS"),
    doc: "Longest time in milliseconds that a natural process end, drain, close or a flush without a limit waits for delivery. If it is not set, the wait for a server that this process never reached ends after one second.",
  },
  samplingRate: {
    kind: "number",
    fallback: 1,
    min: 0,
    max: 1,
    fraction: true,
    env: toLangsmithVariables("SAMPLING_RATE").concat(
      toLangsmithVariables("TRACING_SAMPLING_RATE"),
    ),
    doc: "Fraction of traces that is recorded. A trace is recorded completely or not at all.",
  },
  reportStats: {
    kind: "switch",
    fallback: true,
    env: toMillraceVariables("REPORT_STATS"),
    doc: "Whether the client reports how much it recorded, delivered and dropped to a Millrace server, which shows it in its UI. Other servers get no reports.",
  },
  logLevel: {
    kind: "choice",
    fallback: "warn",
    choices: logLevels,
    env: toMillraceVariables("LOG_LEVEL"),
    doc: "What is logged: nothing (silent), lost data and failures that stop sending (error), also problems that may need attention (warn), actions of the client (info), each delivery (debug). See delivery.md.",
  },
  logRepeatMs: {
    kind: "number",
    fallback: 60_000,
    min: 0,
    max: 86_400_000,
    env: toMillraceVariables("LOG_REPEAT_MS"),
    doc: "Milliseconds before the same kind of message is logged again; its counts include what happened in between. 0 logs each one.",
  },
  hideInputs: {
    kind: "hide",
    fallback: false,
    failClosed: "withhold",
    env: toLangsmithVariables("HIDE_INPUTS"),
    doc: "Hides inputs: true for all of them, or a function that returns what may be recorded.",
  },
  hideOutputs: {
    kind: "hide",
    fallback: false,
    failClosed: "withhold",
    env: toLangsmithVariables("HIDE_OUTPUTS"),
    doc: "Hides outputs, in the same way.",
  },
  hideMetadata: {
    kind: "hide",
    fallback: false,
    failClosed: "withhold",
    env: toLangsmithVariables("HIDE_METADATA"),
    doc: "Hides metadata, in the same way.",
  },
  redact: {
    kind: "rules",
    fallback: [],
    failClosed: "withhold",
    env: toMillraceVariables("REDACT"),
    doc: "What is masked in the worker before a run is sent or spooled: `secrets`, `emails`, `cards`, `{ name, pattern }`, `{ name, keys }`. See privacy.md.",
  },
  recursionLimit: {
    kind: "number",
    fallback: 25,
    min: 1,
    max: 100_000,
    env: toMillraceVariables("RECURSION_LIMIT"),
    doc: "Recursion limit in the configs of LangChain's runnables that `toRunnableConfig` creates from a run.",
  },
  ...promptOptionRows,
  ...connectionOptionRows,
};
