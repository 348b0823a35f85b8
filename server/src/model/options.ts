import { checkKeys, OptionError } from "millrace/model";
import type { KeyTable } from "millrace/model";
import { defaultPort, defaultQueryTimeoutMs } from "./default-port.ts";

const mebibyte = 1_048_576;

/** Every limit of the server, in one place. The end of a name is its unit: bytes, milliseconds or a count. */
export const serverLimits = {
  /** Advertised: operations in one request. */
  operations: 1_000,
  /** Enforced: operations in one request; generous, since clients round. */
  operationsMax: 10_000,
  /** Advertised: bytes of one body before compression. */
  bodyBytes: 20 * mebibyte,
  /** Enforced: bytes of one body, as sent and as inflated. Boundaries and part headers need room. */
  bodyBytesMax: 24 * mebibyte,
  /** The same where no key is needed. */
  openBodyBytes: 65_536,
  /** Values in a body that is read as a whole: all beside runs, spans and examples. */
  bodyValues: 150_000,
  /** Larger bodies of runs and of spans are read on a thread of their own. */
  largeRunsBytes: mebibyte,
  largeSpansBytes: 262_144,
  /** The same for bodies of runs that are not as clients send them: to find out what is wrong takes longer. */
  unusualRunsBytes: 65_536,
  /** The same for bodies of examples. */
  largeExamplesBytes: 262_144,
  /** Examples, and characters of them, that are read or written at once out of a large body. */
  examplesPart: 200,
  examplesPartChars: 524_288,
  /** Datasets that one request writes examples to, and examples of one that are taken from runs. */
  datasetsOfWrite: 100,
  examplesFromRuns: 1_000,
  /** Splits of one example. */
  splitsMax: 1_000,
  /** Rows of examples that are erased, with what is attached to them, before others may have their turn. */
  erasedPart: 50,
  /** Bytes of runs that are deleted before others may have their turn: what is deleted is overwritten. */
  erasedBytes: 2 * mebibyte,
  /** How long runs of one body are parsed before others have their turn. */
  parseSliceMs: 20,
  /** How long a long write goes on before others have their turn. */
  writeSliceMs: 30,
  /** That work and checks of schemas: longest time of one task, threads, heap of each, and tasks that may wait. */
  workMs: 60_000,
  workThreads: 2,
  workHeapMebibytes: 1_024,
  workWaiting: 1_000,
  /** How many times as long as sent a body may become when it is inflated, and from how many bytes on that counts. */
  inflateRatio: 500,
  inflateFreeBytes: 4 * mebibyte,
  /** Bytes of a refused body that are read and thrown away, so that the client sees the answer. */
  discardBytes: 64 * mebibyte,
  discardMs: 5_000,
  /** Bytes of the headers of one part. */
  partHeaderBytes: 16_384,
  /** Parts in one multipart body; examples in one list. */
  parts: 100_000,
  /** Arrays and objects inside one another. */
  jsonDepth: 10_000,
  /** The same in a body that is read as a whole: all beside runs. SQLite reads as many. */
  bodyDepth: 1_000,
  /** Bytes of content that is remembered of one trace, and of all, so that it need not be sent again. */
  contentOfTraceBytes: 8 * mebibyte,
  contentBytes: 64 * mebibyte,
  /** Levels of spans in a trace; those further down stand side by side on the last. */
  spanDepth: 128,
  /** Runs in one answer of `POST /runs/query`. */
  queryDefault: 100,
  queryMax: 1_000,
  /** Bytes of payloads after which such an answer takes no further run. */
  queryBytes: 32 * mebibyte,
  /** Projects in one answer of `GET /sessions`. */
  projectsDefault: 100,
  projectsMax: 1_000,
  /** Prompts or commits in one answer, and ids in one call that deletes prompts. */
  promptsDefault: 20,
  promptsMax: 100,
  /** Arrays and objects inside one another in a manifest. */
  manifestDepth: 500,
  /** Datasets, versions or examples in one answer. */
  datasetsDefault: 100,
  datasetsMax: 1_000,
  /** Characters of each payload in a list of the page. */
  previewChars: 400,
  /** Arrays and objects inside one another in an example; SQLite reads 1,000. */
  exampleDepth: 500,
  /** Characters of a dataset's JSON schema. */
  schemaChars: 262_144,
  /** Schemas within a schema, references in it, and patterns. */
  schemaParts: 2_000,
  schemaRefs: 500,
  schemaPatterns: 200,
  /** Characters of examples that one write may have to have checked. */
  schemaCheckChars: 128 * mebibyte,
  /** Longest time to check what one request writes against a schema. */
  schemaMs: 5_000,
  /** The same for its thread, which is ended then: not everything that takes long can be stopped within. */
  schemaTaskMs: 8_000,
  /** Examples that are exported, indexed or checked in one go. */
  examplesStep: 500,
  /** Bytes of examples after which an export reads no further one before others have their turn. */
  exportBytes: mebibyte,
  /** Words of the inputs that a search looks for. */
  searchWords: 256,
  /** Bytes of an uploaded CSV file, inflated. */
  uploadBytes: 2_048 * mebibyte,
  /** Characters of one row of it. */
  csvRowChars: 8 * mebibyte,
  /** Columns of an exported CSV file. */
  csvColumns: 5_000,
  /** Characters and rows of an uploaded one that are written in one go. */
  csvStepChars: 4 * mebibyte,
  csvStepRows: 5_000,
  /** Bytes of one text field beside the file, and how many of them. */
  formFieldBytes: mebibyte,
  formFields: 10_000,
  /** Characters of all of them. */
  formChars: 8 * mebibyte,
  /** How long a signed address of an attachment leads to it. */
  signedMs: 3_600_000,
  /** Feedback tokens that one request makes. */
  tokensMax: 10_000,
  /** Runs that one request adds to an annotation queue. */
  queueRunsMax: 100_000,
  /** Characters of the name that a reviewer gives. */
  reviewerChars: 64,
  /** Reviewers who must be done with a run, and minutes that one may claim it. */
  reviewersPerRun: 100,
  claimMinutes: 1_440,
  /** Bytes received and not yet committed; above it the server answers 429. */
  pendingBytes: 256 * mebibyte,
  /** Threads that answer queries, each started when it is first needed. */
  readerThreads: 4,
  /** Queries that may take long which run at once: of all tenants, and of one. */
  longQueries: 3,
  longQueriesOfTenant: 2,
  /** Queries of one tenant that wait for a thread, quick ones and long ones each; above it the server answers 503. */
  waitingQueries: 200,
  /** Longest time for one query, its wait for a thread included; the option `queryTimeoutMs` sets another. */
  queryMs: defaultQueryTimeoutMs,
  queryMsMin: 10,
  queryMsMax: 600_000,
  /** Bytes of requests that share one transaction. */
  groupBytes: 32 * mebibyte,
  /** Longest time for a whole request to arrive. */
  requestMs: 120_000,
  /** The same for the upload of a file. */
  uploadMs: 3_600_000,
  /** Longest time for the headers of a request to arrive. */
  headersMs: 15_000,
  /** A connection without any traffic is closed. */
  idleSocketMs: 60_000,
  keepAliveMs: 72_000,
  /** When the server closes, queries under way get this long, and then are ended. */
  endReadsMs: 1_000,
  /** Requests under way get this long. */
  closeMs: 2_000,
  /** From the start of the server to that of the thread that fills the text index. */
  textIndexDelayMs: 1_000,
  /** A reader thread, and the one that fills the text index, get this long to end themselves before they are terminated. */
  readerEndMs: 10_000,
  /** The threads get this long to start, and to end. */
  startMs: 20_000,
  endMs: 15_000,
} as const;

/**
 * The version that `/info` names: that of the calls served, as clients know it, not the package's.
 * From 0.5.23 on clients leave it to the server to resolve the commit `latest`; below 0.16.0, and 0.18.0
 * for traces, langsmith's clients warn where a program uses `/api/v2`.
 */
export const apiVersion = "0.18.0";

/** What {@link startServer} takes. */
export interface ServerOptions {
  /** TCP port; 0 takes any free one. @defaultValue 1984 */
  readonly port?: number;
  /** Name or address to listen on. One that is not loopback needs `apiKeys`. @defaultValue "127.0.0.1" */
  readonly host?: string;
  /** Folder of the database, made when missing; `:memory:` keeps nothing once it is closed. @defaultValue "./.millrace" */
  readonly dataDir?: string;
  /** Keys that are let in. Without any, a loopback server is open to every local program. */
  readonly apiKeys?: readonly string[];
  /** Longest time for one query, in milliseconds from 10 to 600,000; past it the answer is 408. @defaultValue 10,000 */
  readonly queryTimeoutMs?: number;
}

/** {@link ServerOptions}, checked and complete. */
export interface ServerSettings {
  readonly port: number;
  readonly host: string;
  readonly dataDir: string;
  readonly apiKeys: readonly string[];
  readonly queryTimeoutMs: number;
}

const optionKeys: KeyTable<ServerOptions> = {
  port: true,
  host: true,
  dataDir: true,
  apiKeys: true,
  queryTimeoutMs: true,
};

/** The `dataDir` whose data goes away with the server. */
export const memoryDataDir = ":memory:";

/**
 * Checks the options of a server and fills in the defaults.
 *
 * @throws OptionError an option is out of range, or the server would be open to the network without a key.
 */
export function parseServerOptions(options: ServerOptions): ServerSettings {
  checkKeys(options, optionKeys, { what: "startServer", error: OptionError });
  const { port = defaultPort, host = "127.0.0.1", dataDir = "./.millrace", apiKeys = [] } = options;
  const { queryTimeoutMs = serverLimits.queryMs } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new OptionError(`port is a whole number from 0 to 65535, not ${String(port)}`);
  }
  if (typeof host !== "string" || !/^[\w.:[\]%-]+$/.test(host)) {
    throw new OptionError(`host is a name or an address, not ${JSON.stringify(host)}`);
  }
  if (typeof dataDir !== "string" || dataDir === "" || dataDir.includes("\0")) {
    throw new OptionError(`dataDir is the path of a folder, not ${JSON.stringify(dataDir)}`);
  }
  if (!Array.isArray(apiKeys) || !apiKeys.every(isKey)) {
    throw new OptionError(
      "apiKeys is a list of texts without spaces or control characters, none of them empty",
    );
  }
  if (apiKeys.length === 0 && !isLoopback(host)) {
    throw new OptionError(
      `host ${host} is reachable from other machines: give apiKeys, or listen on 127.0.0.1`,
    );
  }
  const { queryMsMin, queryMsMax } = serverLimits;
  if (
    !Number.isInteger(queryTimeoutMs) ||
    queryTimeoutMs < queryMsMin ||
    queryTimeoutMs > queryMsMax
  ) {
    throw new OptionError(
      `queryTimeoutMs is a whole number from ${queryMsMin} to ${queryMsMax}, not ${String(queryTimeoutMs)}`,
    );
  }
  return { port, host: host.replace(/^\[(.*)\]$/, "$1"), dataDir, apiKeys, queryTimeoutMs };
}

const isKey = (key: unknown): key is string =>
  typeof key === "string" && /^[\x21-\x7e]+$/.test(key);

/** True for the names and addresses that only this machine can reach. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  return name === "localhost" || name === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}
