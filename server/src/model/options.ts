import { checkKeys, OptionError } from "millrace/model";
import type { KeyTable } from "millrace/model";
import {
  defaultLogBytes,
  defaultAuditDays,
  defaultModelRate,
  defaultPort,
  defaultQueryTimeoutMs,
} from "./default-port.ts";
import { parseModelEndpoints } from "./model-endpoint.ts";
import type { ModelEndpoint, ModelEndpointOption } from "./model-endpoint.ts";
import { parseLogUrl } from "./log-target.ts";
import type { LogTarget } from "./log-target.ts";
import { parseNetworkOptions } from "./network-options.ts";
import type { NetworkSettings } from "./network-options.ts";
import { logFormats } from "./log-format.ts";
import type { LogFormat } from "./log-format.ts";
import { parseAllowedHost } from "../outbound/target-rules.ts";
import { parseOtelEndpoint } from "./otel-endpoint.ts";
import { parseStoreUrl } from "./store-url.ts";

const mebibyte = 1_048_576;

/** All limits of the server. The name contains the unit, such as Bytes or Ms, of a limit that is not a plain number. */
export const serverLimits = {
  /** Advertised limit: operations in one request. An operation creates or updates a run, or adds feedback. */
  operations: 1_000,
  /**
   * Enforced limit: operations in one request. It is higher than the advertised limit, because clients may exceed that
   * one slightly.
   */
  operationsMax: 10_000,
  /** Advertised limit: bytes of one body before compression. */
  bodyBytes: 20 * mebibyte,
  /**
   * Enforced limit: bytes of one body, both as sent and decompressed. It is higher than the advertised one, because
   * boundaries and part headers count too.
   */
  bodyBytesMax: 24 * mebibyte,
  /** Bytes of one body at endpoints that need no access key. */
  openBodyBytes: 65_536,
  /** Values in a body that is parsed as a whole, that is, any body except those of runs, spans and examples. */
  bodyValues: 150_000,
  /** A body of runs, or of spans, with more bytes than this is parsed on a worker thread. */
  largeRunsBytes: mebibyte,
  largeSpansBytes: 262_144,
  /**
   * A body of runs that the WebAssembly parser rejects is parsed on a worker thread if it has more bytes than this:
   * finding the errors in it takes longer than parsing a valid body.
   */
  unusualRunsBytes: 65_536,
  /** A body of examples with more bytes than this is parsed on a worker thread. */
  largeExamplesBytes: 262_144,
  /** Number of examples, and of their characters, that are read or written at once if a body is large. */
  examplesPart: 200,
  examplesPartChars: 524_288,
  /**
   * Datasets to which one request may write examples, and examples that one request may contain if some of them are
   * created from runs.
   */
  datasetsOfWrite: 100,
  examplesFromRuns: 1_000,
  /** Splits of one example. */
  splitsMax: 1_000,
  /** Rows of examples that are erased in one step, with their attachments. Other writes run between the steps. */
  erasedPart: 50,
  /**
   * Bytes of runs that are deleted in one step. Other writes run between the steps, because deleting takes time: the
   * deleted data is overwritten.
   */
  erasedBytes: 2 * mebibyte,
  /** Milliseconds for which the runs of a body are parsed in one step. Other requests run between the steps. */
  parseSliceMs: 20,
  /** Milliseconds for which a long write runs in one step. Other writes run between the steps. */
  writeSliceMs: 30,
  /**
   * Worker threads, which parse bodies and validate examples: time limit of one task, number of threads, heap of
   * each thread, and tasks that may wait.
   */
  workMs: 60_000,
  workThreads: 2,
  workHeapMebibytes: 1_024,
  workWaiting: 1_000,
  /**
   * Maximum ratio of decompressed to sent bytes, and number of decompressed bytes up to which the ratio is not checked.
   */
  inflateRatio: 500,
  inflateFreeBytes: 4 * mebibyte,
  /**
   * Bytes of a rejected body that are discarded, so that the client receives the response, and the time limit for
   * discarding them.
   */
  discardBytes: 64 * mebibyte,
  discardMs: 5_000,
  /** Bytes of the headers of one part. */
  partHeaderBytes: 16_384,
  /** Parts in one multipart body, and examples in one list. */
  parts: 100_000,
  /** Nesting of arrays and objects in a body of runs. */
  jsonDepth: 10_000,
  /** Nesting of arrays and objects in any other body, which is parsed as a whole. SQLite has the same limit. */
  bodyDepth: 1_000,
  /**
   * Bytes of repeated content that the server caches for one trace, and for all traces, so that clients need not send
   * it again.
   */
  contentOfTraceBytes: 8 * mebibyte,
  contentBytes: 64 * mebibyte,
  /** Levels of spans in a trace. Deeper spans are placed on the last level. */
  spanDepth: 128,
  /** Runs in one response of `POST /runs/query`. */
  queryDefault: 100,
  queryMax: 1_000,
  /** Bytes of payloads after which no further run is added to a response of `POST /runs/query`. */
  queryBytes: 32 * mebibyte,
  /** Projects in one response of `GET /sessions`. */
  projectsDefault: 100,
  projectsMax: 1_000,
  /** Milliseconds for reading the statistics of listed projects. The other projects are returned without statistics. */
  projectStatsMs: 5_000,
  /** Prompts or commits in one response, and ids in one request that deletes prompts. */
  promptsDefault: 20,
  promptsMax: 100,
  /** Nesting of arrays and objects in a manifest. */
  manifestDepth: 500,
  /** Datasets, versions or examples in one response. */
  datasetsDefault: 100,
  datasetsMax: 1_000,
  /** Characters of each payload in a list of the UI. */
  previewChars: 400,
  /** Nesting of arrays and objects in an example. SQLite allows 1,000. */
  exampleDepth: 500,
  /** Characters of a dataset's JSON schema. */
  schemaChars: 262_144,
  /** Subschemas, references and patterns in one schema. */
  schemaParts: 2_000,
  schemaRefs: 500,
  schemaPatterns: 200,
  /** Characters of the examples that are validated for one write. */
  schemaCheckChars: 128 * mebibyte,
  /** Milliseconds for validating the examples of one request against a schema. */
  schemaMs: 5_000,
  /**
   * Milliseconds after which a thread that validates examples is terminated, because not every validation can be
   * stopped from within the thread.
   */
  schemaTaskMs: 8_000,
  /** Milliseconds that filling in a prompt or scoring an output may take. A regular expression may take forever. */
  scoreTaskMs: 5_000,
  /** Examples that are exported, indexed or validated in one step. */
  examplesStep: 500,
  /** Bytes of examples that an export reads in one step. Other requests run between the steps. */
  exportBytes: mebibyte,
  /** Words that a search for examples compares with the inputs. */
  searchWords: 256,
  /** Bytes of an uploaded CSV file, decompressed. */
  uploadBytes: 2_048 * mebibyte,
  /** Characters of one row of an uploaded CSV file. */
  csvRowChars: 8 * mebibyte,
  /** Columns of an exported CSV file. */
  csvColumns: 5_000,
  /** Characters and rows of an uploaded CSV file that are written in one step. */
  csvStepChars: 4 * mebibyte,
  csvStepRows: 5_000,
  /** Bytes of one text field that is sent with an uploaded file, and number of such fields. */
  formFieldBytes: mebibyte,
  formFields: 10_000,
  /** Characters of all text fields that are sent with an uploaded file. */
  formChars: 8 * mebibyte,
  /** Milliseconds for which the signed URL of an attachment is valid. */
  signedMs: 3_600_000,
  /** Feedback tokens that one request may create. */
  tokensMax: 10_000,
  /** Runs that one request may add to an annotation queue. */
  queueRunsMax: 100_000,
  /** Characters of a reviewer's name. */
  reviewerChars: 64,
  /** Reviewers that a run may need, and minutes for which a reviewer may claim it. */
  reviewersPerRun: 100,
  claimMinutes: 1_440,
  /**
   * Model calls that a tenant may make in a minute, the highest value of this option, and the highest budget in US
   * dollars.
   */
  modelRate: defaultModelRate,
  modelRateMax: 100_000,
  modelBudgetMax: 1_000_000,
  /** Maximum number of days for which entries of the audit log can be kept. */
  auditDaysMax: 3_650,
  /** The highest limits of a tenant's requests in a second, and of the bytes that it may send in a day. */
  tenantRateMax: 1_000_000,
  tenantIngestBytesMax: 1e15,
  /** The highest limit of a tenant's stored runs. */
  tenantRunsMax: 1e12,
  /** The highest limit of the bytes that a tenant stores. */
  tenantBytesMax: 1e15,
  /** Bytes received and not yet committed. Above this, the server responds with 429. */
  pendingBytes: 256 * mebibyte,
  /** Threads that run queries. Each one starts when it is first needed. */
  readerThreads: 4,
  /** Maximum numbers of long queries that run at the same time: of all tenants together, and of one tenant. */
  longQueries: 3,
  longQueriesOfTenant: 2,
  /**
   * Queries of one tenant that wait for a thread, counted separately for quick and for long ones. Above this, the
   * server responds with 503.
   */
  waitingQueries: 200,
  /** Time limit of one query, including its wait for a thread. The option `queryTimeoutMs` overrides it. */
  queryMs: defaultQueryTimeoutMs,
  queryMsMin: 10,
  queryMsMax: 600_000,
  /** Bytes of runs that may wait in the ingest log, and the range of the option. */
  logBytes: defaultLogBytes,
  logBytesMin: mebibyte,
  logBytesMax: 1_048_576 * 1_024 * mebibyte,
  /** Bytes of requests that share one transaction. */
  groupBytes: 32 * mebibyte,
  /** Time limit for a whole request to arrive. */
  requestMs: 120_000,
  /** Time limit for the whole upload of a file to arrive. */
  uploadMs: 3_600_000,
  /** Time limit for the headers of a request to arrive. */
  headersMs: 15_000,
  /** Milliseconds without any traffic after which a connection is closed. */
  idleSocketMs: 60_000,
  keepAliveMs: 72_000,
  /** Milliseconds for which queries may continue while the server closes. Then they are canceled. */
  endReadsMs: 1_000,
  /** Milliseconds for which open connections may end by themselves before the server closes. */
  lastRequestsMs: 1_000,
  /**
   * Maximum number of seconds for which a server continues to serve requests after it has reported that it is not
   * ready.
   */
  drainSecondsMax: 600,
  /** Milliseconds for which requests may continue while the server closes. */
  closeMs: 2_000,
  /** Milliseconds after the start of the server at which the thread that fills the text index is started. */
  textIndexDelayMs: 1_000,
  /** Milliseconds after the start of the server at which the thread that computes metrics is started. */
  metricDelayMs: 1_500,
  /** Milliseconds for which a minute must not have changed before its metrics are computed. */
  metricSettleMs: 5_000,
  /**
   * Milliseconds within which a reader thread, or the thread that fills the text index, must end; otherwise it is
   * terminated.
   */
  readerEndMs: 10_000,
  /**
   * Milliseconds within which the thread of the server and the one that writes must start: enough to convert a database
   * of an earlier format with tens of millions of runs.
   */
  conversionMs: 600_000,
  /** Milliseconds within which the other threads must start, and end. */
  startMs: 20_000,
  endMs: 15_000,
} as const;

/**
 * The version in `/info`. It is the version of the API, from which clients conclude what the server supports; it is not
 * the version of the package. If it is 0.5.23 or later, clients let the server resolve the commit `latest`. If it is
 * earlier than 0.16.0, or 0.18.0 for traces, LangSmith clients warn when a program uses `/api/v2`.
 */
export const apiVersion = "0.18.0";

/** Options of {@link startServer}. */
export interface ServerOptions {
  /** TCP port; 0 selects any free port. @defaultValue 1984 */
  readonly port?: number;
  /**
   * Host name or address to listen on. Any address other than loopback requires `apiKeys`. @defaultValue "127.0.0.1"
   */
  readonly host?: string;
  /**
   * Folder of the database, which is created if missing. `:memory:` keeps the data in memory until the server
   * closes. @defaultValue "./.millrace"
   */
  readonly dataDir?: string;
  /**
   * URL of a PostgreSQL database that holds the data, such as `postgres://user:password@host:5432/database`. Several
   * hosts are separated by commas. Several servers may use one database; each needs the same file `token.key` in its
   * `dataDir`, which then holds nothing else. Without it, the data is in SQLite in `dataDir`.
   */
  readonly store?: string;
  /** Access keys that are accepted. Without any, a loopback server accepts every local program. */
  readonly apiKeys?: readonly string[];
  /**
   * Time limit of one query in milliseconds, from 10 to 600,000. A query that takes longer fails with status 408.
   * @defaultValue 10,000
   */
  readonly queryTimeoutMs?: number;
  /**
   * Endpoints at which the UI may call models. Without any, the server calls no other host for models.
   * @defaultValue none
   */
  readonly modelEndpoints?: readonly ModelEndpointOption[];
  /** Model calls that a tenant may make in a minute, from 1 to 100,000. @defaultValue 60 */
  readonly modelRate?: number;
  /**
   * US dollars that a tenant's model calls may cost in a day. If this is set, a call whose cost can't be estimated in
   * advance is refused. @defaultValue unlimited
   */
  readonly modelBudget?: number;
  /**
   * Hosts to which webhooks may be sent although they are private or use http: `HOST`, or `HOST:PORT` for one port
   * only. Without any, webhooks are sent to public addresses with https.
   */
  readonly webhookHosts?: readonly string[];
  /**
   * Address of NATS servers with JetStream, such as `nats://a,b,c`. A request with runs is then answered when several
   * of these servers have stored the runs, which reach the database afterwards. Without it, the request is answered
   * when the database has stored them.
   */
  readonly log?: string;
  /**
   * Bytes of runs that may wait in the log, at least 1 MiB. When they are used up, the server responds with 429 to
   * requests that contain runs. @defaultValue 2 GiB
   */
  readonly logMaxBytes?: number;
  /**
   * Which processes store the runs of the log in the database: this `server`, too, or only `separate` processes
   * (`millrace work`). `separate` needs a `store`. @defaultValue "server"
   */
  readonly logWriter?: LogWriter;
  /**
   * Which processes perform jobs, such as actions on many runs, and delete expired runs: this `server`, too, or only
   * `separate` processes (`millrace work`). `separate` needs a `store`. Experiments are always run by servers.
   * @defaultValue "server"
   */
  readonly jobRunner?: JobRunnerPlace;
  /** Days for which entries of the audit log are kept, from 1 to 3,650. @defaultValue 365 */
  readonly auditDays?: number;
  /**
   * Writes a line for each request, and the warnings of all threads, to standard error: as JSON or as text.
   * @defaultValue none
   */
  readonly logFormat?: LogFormat;
  /**
   * Address of an OTLP receiver, such as `http://collector:4318`, to which the server sends spans of what it does
   * itself: requests, queries, writes and jobs. `/v1/traces` is added. Sampling and headers are read from the standard
   * variables `OTEL_TRACES_SAMPLER` and `OTEL_EXPORTER_OTLP_HEADERS`. @defaultValue none
   */
  readonly otelEndpoint?: string;
  /**
   * Seconds for which the server continues to serve requests when it is closed, from 0 to 600. During this time it
   * reports that it is not ready, so that a load balancer sends requests elsewhere. @defaultValue 0
   */
  readonly drainSeconds?: number;
  /** Requests that a tenant may send in a second, from 1 to 1,000,000. @defaultValue unlimited */
  readonly tenantRate?: number;
  /**
   * Bytes of runs, spans and feedback, as sent, that a tenant may send in a day (UTC), from 1 to 10^15. The count
   * survives a restart. @defaultValue unlimited
   */
  readonly tenantIngestBytes?: number;
  /** Runs that a tenant may store, from 1 to 10^12. @defaultValue unlimited */
  readonly tenantMaxRuns?: number;
  /**
   * Bytes that the payloads and attachments of a tenant's runs may take, from 1 to 10^15. @defaultValue unlimited
   */
  readonly tenantMaxBytes?: number;
  /**
   * The URL at which clients reach the server through a proxy, such as `https://traces.example.com/millrace`. Links
   * begin with it, and requests of pages with this origin are accepted. A host other than loopback requires `apiKeys`.
   */
  readonly publicUrl?: string;
  /**
   * Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are used: addresses, ranges such as `10.0.0.0/8`, or
   * `loopback`. @defaultValue none
   */
  readonly trustedProxies?: readonly string[];
  /** PEM file of the certificate for HTTPS. It is read again when it changes. */
  readonly tlsCert?: string;
  /** PEM file of the private key of `tlsCert`. */
  readonly tlsKey?: string;
}

/** {@link ServerOptions} after validation, with defaults. */
export interface ServerSettings extends NetworkSettings {
  readonly port: number;
  readonly host: string;
  readonly dataDir: string;
  /** The URL of a PostgreSQL database, which may contain a password. */
  readonly store: string | undefined;
  readonly apiKeys: readonly string[];
  readonly queryTimeoutMs: number;
  readonly modelEndpoints: readonly ModelEndpoint[];
  readonly modelRate: number;
  readonly modelBudget: number | undefined;
  readonly webhookHosts: readonly string[];
  readonly log: LogSettings | undefined;
  readonly jobRunner: JobRunnerPlace;
  readonly auditDays: number;
  readonly logFormat: LogFormat | undefined;
  readonly otelEndpoint: string | undefined;
  readonly drainMs: number;
  readonly tenantRate: number | undefined;
  readonly tenantIngestBytes: number | undefined;
  readonly tenantMaxRuns: number | undefined;
  readonly tenantMaxBytes: number | undefined;
}

/** The ingest log of a server. */
export interface LogSettings {
  readonly target: LogTarget;
  readonly maxBytes: number;
  readonly writer: LogWriter;
}

const workPlaces = ["server", "separate"] as const;
/** Which processes store the runs of the ingest log in the database. */
export type LogWriter = (typeof workPlaces)[number];
/** Which processes perform jobs. */
export type JobRunnerPlace = (typeof workPlaces)[number];

const optionKeys: KeyTable<ServerOptions> = {
  port: true,
  host: true,
  dataDir: true,
  store: true,
  apiKeys: true,
  queryTimeoutMs: true,
  modelEndpoints: true,
  modelRate: true,
  modelBudget: true,
  webhookHosts: true,
  log: true,
  logMaxBytes: true,
  logWriter: true,
  jobRunner: true,
  auditDays: true,
  logFormat: true,
  otelEndpoint: true,
  drainSeconds: true,
  tenantRate: true,
  tenantIngestBytes: true,
  tenantMaxRuns: true,
  tenantMaxBytes: true,
  publicUrl: true,
  trustedProxies: true,
  tlsCert: true,
  tlsKey: true,
};

/** The `dataDir` for a database in memory, which is lost when the server closes. */
export const memoryDataDir = ":memory:";

/**
 * Checks the options of a server and fills in the defaults.
 *
 * @throws OptionError an option is out of range, or the server would be open to the network without a key.
 */
export function parseServerOptions(options: ServerOptions): ServerSettings {
  checkKeys(options, optionKeys, { subject: "startServer", error: OptionError });
  const { port = defaultPort, host = "127.0.0.1", dataDir = "./.millrace", apiKeys = [] } = options;
  const { queryTimeoutMs = serverLimits.queryMs, webhookHosts = [], store } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new OptionError(`port must be a whole number from 0 to 65535, not ${String(port)}`);
  }
  if (typeof host !== "string" || !/^[\w.:[\]%-]+$/.test(host)) {
    throw new OptionError(`host must be a host name or an address, not ${JSON.stringify(host)}`);
  }
  if (typeof dataDir !== "string" || dataDir === "" || dataDir.includes("\0")) {
    throw new OptionError(`dataDir must be the path of a folder, not ${JSON.stringify(dataDir)}`);
  }
  if (store !== undefined) {
    // The URL itself is not shown in an error, because it may contain a password.
    parseStoreUrl(typeof store === "string" ? store : "");
    if (dataDir === memoryDataDir) {
      throw new OptionError(
        `dataDir must be a folder if there is a store, not ${memoryDataDir}: it holds the key of share links, which all servers of the store need`,
      );
    }
  }
  if (!Array.isArray(apiKeys) || !apiKeys.every(isKey)) {
    throw new OptionError(
      "apiKeys must be a list of non-empty texts without spaces or control characters",
    );
  }
  if (apiKeys.length === 0 && !isLoopback(host)) {
    throw new OptionError(
      `host ${host} is reachable from other machines: set apiKeys, or listen on 127.0.0.1`,
    );
  }
  const { drainSeconds = 0, logFormat } = options;
  if (logFormat !== undefined && !logFormats.includes(logFormat)) {
    throw new OptionError(
      `logFormat must be ${logFormats.join(" or ")}, not ${JSON.stringify(logFormat)}`,
    );
  }
  assertWholeNumber("drainSeconds", drainSeconds, { min: 0, max: serverLimits.drainSecondsMax });
  const { tenantRate, tenantIngestBytes, tenantMaxRuns, tenantMaxBytes } = options;
  const { tenantRateMax, tenantIngestBytesMax, tenantRunsMax, tenantBytesMax } = serverLimits;
  if (tenantMaxRuns !== undefined) {
    assertWholeNumber("tenantMaxRuns", tenantMaxRuns, { min: 1, max: tenantRunsMax });
  }
  if (tenantMaxBytes !== undefined) {
    assertWholeNumber("tenantMaxBytes", tenantMaxBytes, { min: 1, max: tenantBytesMax });
  }
  if (tenantRate !== undefined) {
    assertWholeNumber("tenantRate", tenantRate, { min: 1, max: tenantRateMax });
  }
  if (tenantIngestBytes !== undefined) {
    assertWholeNumber("tenantIngestBytes", tenantIngestBytes, {
      min: 1,
      max: tenantIngestBytesMax,
    });
  }
  const network = parseNetworkOptions(options);
  const { publicUrl } = network;
  if (apiKeys.length === 0 && publicUrl !== undefined && !isLoopback(toHostName(publicUrl.host))) {
    throw new OptionError(
      `publicUrl ${publicUrl.url} makes the server reachable from other machines: set apiKeys`,
    );
  }
  const { queryMsMin, queryMsMax } = serverLimits;
  if (
    !Number.isInteger(queryTimeoutMs) ||
    queryTimeoutMs < queryMsMin ||
    queryTimeoutMs > queryMsMax
  ) {
    throw new OptionError(
      `queryTimeoutMs must be a whole number from ${queryMsMin} to ${queryMsMax}, not ${String(queryTimeoutMs)}`,
    );
  }
  assertHosts(webhookHosts);
  const { auditDays = defaultAuditDays } = options;
  assertWholeNumber("auditDays", auditDays, { min: 1, max: serverLimits.auditDaysMax });
  return {
    port,
    host: host.replace(/^\[(.*)\]$/, "$1"),
    dataDir,
    store,
    apiKeys,
    queryTimeoutMs,
    webhookHosts,
    log: parseLogOptions(options, dataDir),
    jobRunner: parseJobRunner(options),
    auditDays,
    logFormat,
    otelEndpoint:
      options.otelEndpoint === undefined ? undefined : parseOtelEndpoint(options.otelEndpoint),
    drainMs: drainSeconds * 1_000,
    tenantRate,
    tenantIngestBytes,
    tenantMaxRuns,
    tenantMaxBytes,
    ...network,
    ...parseModelOptions(options),
  };
}

function parseJobRunner({ jobRunner = "server", store }: ServerOptions): JobRunnerPlace {
  if (!workPlaces.includes(jobRunner)) {
    throw new OptionError(`jobRunner must be server or separate, not ${JSON.stringify(jobRunner)}`);
  }
  if (jobRunner === "separate" && store === undefined) {
    throw new OptionError(
      "jobRunner can be separate only with a store: the database in a data folder belongs to the server's process. Leave it out, or use PostgreSQL",
    );
  }
  return jobRunner;
}

function parseLogOptions(
  { log, logMaxBytes = serverLimits.logBytes, logWriter = "server", store }: ServerOptions,
  dataDir: string,
): LogSettings | undefined {
  const { logBytesMin, logBytesMax } = serverLimits;
  if (!Number.isInteger(logMaxBytes) || logMaxBytes < logBytesMin || logMaxBytes > logBytesMax) {
    throw new OptionError(
      `logMaxBytes must be a whole number of bytes from ${logBytesMin} to ${logBytesMax}, not ${String(logMaxBytes)}`,
    );
  }
  if (!workPlaces.includes(logWriter)) {
    throw new OptionError(`logWriter must be server or separate, not ${JSON.stringify(logWriter)}`);
  }
  if (logWriter === "separate" && (log === undefined || store === undefined)) {
    throw new OptionError(
      "logWriter can be separate only with a log and a store: the database in a data folder belongs to the server's process. Leave it out, or use PostgreSQL",
    );
  }
  if (log === undefined) {
    return undefined;
  }
  if (dataDir === memoryDataDir) {
    throw new OptionError(
      "log can't be used with a database in memory: the log deletes a run once it is in the database. Set dataDir to a folder",
    );
  }
  return { target: parseLogUrl(log), maxBytes: logMaxBytes, writer: logWriter };
}

function parseModelOptions({
  modelEndpoints = [],
  modelRate = serverLimits.modelRate,
  modelBudget,
}: ServerOptions): Pick<ServerSettings, "modelEndpoints" | "modelRate" | "modelBudget"> {
  const { modelRateMax, modelBudgetMax } = serverLimits;
  if (!Number.isInteger(modelRate) || modelRate < 1 || modelRate > modelRateMax) {
    throw new OptionError(
      `modelRate must be a whole number from 1 to ${modelRateMax}, not ${String(modelRate)}`,
    );
  }
  if (modelBudget !== undefined && !(modelBudget > 0 && modelBudget <= modelBudgetMax)) {
    throw new OptionError(
      `modelBudget must be a number of US dollars above 0, up to ${modelBudgetMax}, not ${String(modelBudget)}`,
    );
  }
  return { modelEndpoints: parseModelEndpoints(modelEndpoints), modelRate, modelBudget };
}

/** @throws OptionError the value is not a whole number within the range. */
function assertWholeNumber(
  name: keyof ServerOptions,
  value: number,
  { min, max }: { readonly min: number; readonly max: number },
): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new OptionError(
      `${name} must be a whole number from ${min} to ${max}, not ${String(value)}`,
    );
  }
}

/** @throws OptionError one of the hosts is malformed. */
function assertHosts(hosts: readonly string[]): void {
  if (!Array.isArray(hosts) || !hosts.every((host) => typeof host === "string")) {
    throw new OptionError("webhookHosts must be a list of hosts, such as hooks.internal:8080");
  }
  for (const host of hosts) {
    try {
      parseAllowedHost(host);
    } catch (cause) {
      throw new OptionError(
        `webhookHosts ${cause instanceof TypeError ? cause.message : String(cause)}`,
      );
    }
  }
}

const isKey = (key: unknown): key is string =>
  typeof key === "string" && /^[\x21-\x7e]+$/.test(key);

/** The host name in a Host header, without the port and without the brackets of an address. */
export const toHostName = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d{0,5}$/, "")
    .replace(/^\[(.*)\]$/, "$1");

/** Whether a host name or an address is reachable from this machine only. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  return name === "localhost" || name === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}
