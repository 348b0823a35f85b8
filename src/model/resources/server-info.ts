import gte from "semver/functions/gte.js";
import valid from "semver/functions/valid.js";

/** The content of `GET /info`; members that a server leaves out have their defaults. */
export interface ServerInfo {
  /** A semantic version; absent where the server names none, or one that is not. */
  readonly version?: string;
  /** Operations in one request. */
  readonly batchLimit: number;
  /** Bytes of one request's body before compression. */
  readonly batchBytes: number;
  readonly multipart: boolean;
  readonly gzip: boolean;
  readonly zstd: boolean;
  /** Whether it takes examples as parts, with attachments. */
  readonly exampleParts: boolean;
  /** Whether it accepts reports of the counts of its clients; servers of this project do. */
  readonly senderStats: boolean;
  /** Whether it takes payloads in pieces, of which it remembers some; servers of this project do. */
  readonly contentDeduplication: boolean;
  /** Whether it can check examples against the schemas of a dataset without creating them. */
  readonly checksExamples: boolean;
  /** Whether it lists examples in the order of writing, behind one of them. */
  readonly listsExamplesAfter: boolean;
  /** Whether the server itself resolves the commit `latest` of a prompt. */
  readonly resolvesLatestCommit: boolean;
}

/** From this version on the server resolves the commit `latest` (specification, section 9). */
const resolvesLatestFrom = "0.5.23";

/** Used until `/info` answers, and where a server has no `/info` (docs/wire.md). */
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
  resolvesLatestCommit: false,
};

/** Reads the answer of `/info`. Never throws: a field of the wrong kind has its default. */
export function parseServerInfo(body: unknown): ServerInfo {
  const info = record(body);
  const ingest = record(info["batch_ingest_config"]);
  const flags = record(info["instance_flags"]);
  const version = typeof info["version"] === "string" ? valid(info["version"]) : null;
  return {
    ...(version === null ? {} : { version }),
    batchLimit: positive(ingest["size_limit"]) ?? defaultServerInfo.batchLimit,
    batchBytes: positive(ingest["size_limit_bytes"]) ?? defaultServerInfo.batchBytes,
    multipart: ingest["use_multipart_endpoint"] !== false,
    gzip: flags["gzip_body_enabled"] === true,
    zstd: flags["zstd_compression_enabled"] === true,
    exampleParts: flags["dataset_examples_multipart_enabled"] === true,
    senderStats: flags["millrace_sender_stats"] === true,
    contentDeduplication: flags["millrace_repeated_content"] === true,
    checksExamples: flags["examples_check_enabled"] === true,
    listsExamplesAfter: flags["examples_after_enabled"] === true,
    resolvesLatestCommit: version !== null && gte(version, resolvesLatestFrom),
  };
}

/** Whether an answer of `/info` names a version, of whatever form: what does not may be no server of runs. */
export function namesVersion(body: unknown): boolean {
  const { version } = record(body);
  return typeof version === "string" && version !== "";
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

const positive = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
