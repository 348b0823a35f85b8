import { compressions } from "./connection.ts";
import type { Compression } from "./connection.ts";
import { attachmentRows } from "./attachment-options.ts";
import type { AttachmentOptions } from "./attachment-options.ts";
import { connectionRows } from "./connection-options.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import { keepingRows } from "./keeping-options.ts";
import type { KeepingOptions } from "./keeping-options.ts";
import { logLevels } from "./log-level.ts";
import type { LogLevel } from "./log-level.ts";
import { own, shared } from "./option-row.ts";
import type { OptionRow } from "./option-row.ts";
import type { RedactionRule } from "./redaction.ts";
import { contentDeduplications } from "./content-deduplication.ts";
import type { ContentDeduplicationMode } from "./content-deduplication.ts";
import type { KeyValues } from "../run.ts";

/**
 * What to hide of a payload: `true` for all of it, or a function that returns what may be recorded.
 * It is called once per value, must return at once, and must not change what it is given.
 */
export type Hide = boolean | ((value: KeyValues) => KeyValues);

/** The options that are a number, a text or a switch: each can also come from the environment. */
export interface PlainOptions extends KeepingOptions, AttachmentOptions, ConnectionOptions {
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
  readonly hideInputs: Hide;
  readonly hideOutputs: Hide;
  readonly hideMetadata: Hide;
  readonly redact: readonly RedactionRule[];
  readonly recursionLimit: number;
}

/** Every tunable of the client: its default, range, variables and sentence. Written here only. */
export const optionTable: { readonly [Name in keyof PlainOptions]: OptionRow } = {
  enabled: {
    kind: "switch",
    fallback: true,
    env: [...shared("TRACING"), "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2"],
    doc: "Whether anything is recorded. A variable that says false wins over `enabled: true`; one that says true starts tracing without a client. See tracing.md.",
  },
  endpoint: {
    kind: "text",
    fallback: "http://localhost:1984",
    format: "address",
    failClosed: "sendNothing",
    env: shared("ENDPOINT"),
    doc: "Base address of the server, http or https, with a path where it has one.",
  },
  apiKey: {
    kind: "text",
    fallback: undefined,
    format: "token",
    isSecret: true,
    failClosed: "sendNothing",
    env: shared("API_KEY"),
    doc: "Key sent in the header x-api-key; never logged.",
  },
  workspaceId: {
    kind: "text",
    fallback: undefined,
    format: "token",
    failClosed: "sendNothing",
    env: shared("WORKSPACE_ID"),
    doc: "Workspace sent in the header x-tenant-id, for keys that reach several.",
  },
  projectName: {
    kind: "text",
    fallback: "default",
    env: [...shared("PROJECT"), "LANGCHAIN_SESSION"],
    doc: "Project that runs are filed in where none is named.",
  },
  timeoutMs: {
    kind: "number",
    fallback: 12_000,
    min: 1,
    max: 600_000,
    env: own("TIMEOUT_MS"),
    doc: "Longest wait for one answer of the server.",
  },
  syncTimeoutMs: {
    kind: "number",
    fallback: 120_000,
    min: 1,
    max: 3_600_000,
    env: own("SYNC_TIMEOUT_MS"),
    doc: "Longest that a call of client.sync blocks, all its tries and pages together.",
  },
  maxResponseBytes: {
    kind: "number",
    fallback: 268_435_456,
    min: 65_536,
    max: 1_073_741_824,
    env: own("MAX_RESPONSE_BYTES"),
    doc: "Size of one answer that a call of the API reads as a whole, such as a page of runs; a larger one is a ResponseError. What is read as a stream is not bounded.",
  },
  batchLimit: {
    kind: "number",
    fallback: 100,
    min: 1,
    max: 1_000_000,
    env: own("BATCH_LIMIT"),
    doc: "Pending operations that are sent at once, where nothing is under way. How many a request holds is for the server to say.",
  },
  firstDelayMs: {
    kind: "number",
    fallback: 250,
    min: 0,
    max: 60_000,
    env: own("FIRST_DELAY_MS"),
    doc: "Wait for company after the first record of a quiet time.",
  },
  aggregationDelayMs: {
    kind: "number",
    fallback: 50,
    min: 0,
    max: 60_000,
    env: own("AGGREGATION_DELAY_MS"),
    doc: "Longest wait for company in traffic; no later record pushes it back.",
  },
  attempts: {
    kind: "number",
    fallback: 6,
    min: 1,
    max: 100,
    env: own("ATTEMPTS"),
    doc: "Tries of one batch in one go, the first included.",
  },
  retryAfterLimitMs: {
    kind: "number",
    fallback: 60_000,
    min: 0,
    max: 3_600_000,
    env: own("RETRY_AFTER_LIMIT_MS"),
    doc: "Longest wait that a server's Retry-After can ask for.",
  },
  ...keepingRows,
  ...attachmentRows,
  tapeBytes: {
    kind: "number",
    fallback: 1_048_576,
    min: 4_096,
    max: 268_435_456,
    env: own("TAPE_BYTES"),
    doc: "Size of one tape, the buffer that crosses to a worker; a larger record gets a tape of its own.",
  },
  workers: {
    kind: "number",
    fallback: 1,
    min: 0,
    max: 64,
    env: own("WORKERS"),
    doc: "Worker threads that serialize and send; 0 does it on the main thread.",
  },
  workerStallMs: {
    kind: "number",
    fallback: 30_000,
    min: 500,
    max: 3_600_000,
    env: own("WORKER_STALL_MS"),
    doc: "How long a worker's event loop may stand still, as in an endless loop, before the worker is replaced; waiting for the server is no standing still.",
  },
  requestsInFlight: {
    kind: "number",
    fallback: 16,
    min: 1,
    max: 1_024,
    env: own("REQUESTS_IN_FLIGHT"),
    doc: "Requests under way at once, all workers together; also the tapes under way.",
  },
  compression: {
    kind: "choice",
    fallback: "auto",
    choices: compressions,
    env: own("COMPRESSION"),
    doc: "How bodies are compressed where the server offers it; auto leaves loopback addresses plain.",
  },
  contentDeduplication: {
    kind: "choice",
    fallback: "inline",
    choices: contentDeduplications,
    env: own("REPEATED_CONTENT"),
    doc: "Whether what a trace holds again is sent again (inline), or named by its digest (once) to a server of this project. See content-deduplication.md.",
  },
  exitTimeoutMs: {
    kind: "number",
    fallback: 1_000,
    min: 0,
    max: 60_000,
    env: own("EXIT_TIMEOUT_MS"),
    doc: "Longest that a forced end (process.exit, uncaught exception, signal) waits for delivery.",
  },
  drainTimeoutMs: {
    kind: "number",
    fallback: 30_000,
    min: 0,
    max: 600_000,
    env: own("DRAIN_TIMEOUT_MS"),
    doc: "Longest that a natural end, drain, close or a flush without a limit waits for delivery. Where it is not set, a server that this process never reached is waited for one second.",
  },
  samplingRate: {
    kind: "number",
    fallback: 1,
    min: 0,
    max: 1,
    fraction: true,
    env: shared("SAMPLING_RATE").concat(shared("TRACING_SAMPLING_RATE")),
    doc: "Share of traces that is recorded; a trace is kept whole or not at all.",
  },
  reportStats: {
    kind: "switch",
    fallback: true,
    env: own("REPORT_STATS"),
    doc: "Whether a local server of this project is told how much was recorded, delivered and dropped, for its page; no other server is.",
  },
  logLevel: {
    kind: "choice",
    fallback: "warn",
    choices: logLevels,
    env: own("LOG_LEVEL"),
    doc: "What is logged: nothing (silent), lost data and what stops sending (error), also what may need attention (warn), what the client found and did (info), each delivery (debug). See delivery.md.",
  },
  hideInputs: {
    kind: "hide",
    fallback: false,
    failClosed: "withhold",
    env: shared("HIDE_INPUTS"),
    doc: "Hides inputs: true for all of them, or a function that returns what may be recorded.",
  },
  hideOutputs: {
    kind: "hide",
    fallback: false,
    failClosed: "withhold",
    env: shared("HIDE_OUTPUTS"),
    doc: "Hides outputs, likewise.",
  },
  hideMetadata: {
    kind: "hide",
    fallback: false,
    failClosed: "withhold",
    env: shared("HIDE_METADATA"),
    doc: "Hides metadata, likewise.",
  },
  redact: {
    kind: "rules",
    fallback: [],
    failClosed: "withhold",
    env: own("REDACT"),
    doc: "What is masked in the worker before a run is sent or spooled: `secrets`, `emails`, `cards`, `{ name, pattern }`, `{ name, keys }`. See privacy.md.",
  },
  recursionLimit: {
    kind: "number",
    fallback: 25,
    min: 1,
    max: 100_000,
    env: own("RECURSION_LIMIT"),
    doc: "Recursion limit of the runnable configs that a run is turned into for LangChain.",
  },
  ...connectionRows,
};
