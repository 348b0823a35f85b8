import gte from "semver/functions/gte.js";
import valid from "semver/functions/valid.js";

/** The content of `GET /info`, with defaults for members that the server omits. */
export interface ServerInfo {
  /** A semantic version; absent if the server sends none or an invalid one. */
  readonly version?: string;
  /** Maximum number of operations in one request. */
  readonly batchLimit: number;
  /** Maximum number of bytes of a request body, before compression. */
  readonly batchBytes: number;
  /** Whether the server accepts runs as multipart requests. */
  readonly multipart: boolean;
  /** Whether the server accepts request bodies compressed with gzip. */
  readonly gzip: boolean;
  /** Whether the server accepts request bodies compressed with zstd. */
  readonly zstd: boolean;
  /** Whether the server accepts examples as multipart requests with attachments. */
  readonly exampleParts: boolean;
  /** Whether the server accepts reports with the record counts of its clients. Millrace servers do. */
  readonly senderStats: boolean;
  /** Whether the server accepts payloads as chunks and remembers their content. Millrace servers do. */
  readonly contentDeduplication: boolean;
  /** Whether the server can check examples against the schemas of a dataset without creating them. */
  readonly checksExamples: boolean;
  /**
   * Whether the server can list examples in the order in which they were written, starting after a
   * given example.
   */
  readonly listsExamplesAfter: boolean;
  /** Whether the server reports what became of each feedback entry in a multipart request. */
  readonly feedbackParts: boolean;
  /** Whether the server itself resolves the commit `latest` of a prompt. */
  readonly resolvesLatestCommit: boolean;
}

/** Servers resolve the commit `latest` from this version on. */
const resolvesLatestFrom = "0.5.23";

/** Used until the response of `/info` arrives, and for servers without `/info` (docs/wire.md). */
export const defaultServerInfo: ServerInfo = {
  batchLimit: 100,
  batchBytes: 20_971_520,
  multipart: true,
  gzip: false,
  zstd: false,
  exampleParts: false,
  senderStats: false,
  contentDeduplication: false,
  checksExamples: false,
  listsExamplesAfter: false,
  feedbackParts: false,
  resolvesLatestCommit: false,
};

/** Parses the response of `/info`. Never throws: a field of the wrong type gets its default. */
export function parseServerInfo(body: unknown): ServerInfo {
  const info = toRecord(body);
  const ingest = toRecord(info["batch_ingest_config"]);
  const flags = toRecord(info["instance_flags"]);
  const version = typeof info["version"] === "string" ? valid(info["version"]) : null;
  return {
    ...(version === null ? {} : { version }),
    batchLimit: toPositiveInteger(ingest["size_limit"]) ?? defaultServerInfo.batchLimit,
    batchBytes: toPositiveInteger(ingest["size_limit_bytes"]) ?? defaultServerInfo.batchBytes,
    multipart: ingest["use_multipart_endpoint"] !== false,
    gzip: flags["gzip_body_enabled"] === true,
    zstd: flags["zstd_compression_enabled"] === true,
    exampleParts: flags["dataset_examples_multipart_enabled"] === true,
    senderStats: flags["millrace_sender_stats"] === true,
    contentDeduplication: flags["millrace_repeated_content"] === true,
    checksExamples: flags["examples_check_enabled"] === true,
    listsExamplesAfter: flags["examples_after_enabled"] === true,
    feedbackParts: flags["feedback_parts_enabled"] === true,
    resolvesLatestCommit: version !== null && gte(version, resolvesLatestFrom),
  };
}

/**
 * Whether a response of `/info` has a version, in any format. It is uncertain whether a server without a version
 * accepts runs.
 */
export function hasVersion(body: unknown): boolean {
  const { version } = toRecord(body);
  return typeof version === "string" && version !== "";
}

const toRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

const toPositiveInteger = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
