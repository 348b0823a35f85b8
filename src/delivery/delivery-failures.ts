import { isLoopback } from "../model/options/connection.ts";
import { optionTable } from "../model/options/option-table.ts";
import { chooseProxy, nameProxySource } from "../model/options/proxy.ts";
import type { ResolvedOptions } from "../model/options/options.ts";
import type { RequestFailure, SharedTraffic } from "../model/records/shared-traffic.ts";
import type { DeliveryFailure } from "../model/stats.ts";
import type { Ledger } from "../tracing/queue/ledger.ts";
import type { Reporter } from "./reporter.ts";

/** The options that messages about failures mention. */
type FailureContext = Pick<
  ResolvedOptions,
  | "endpoint"
  | "socketPath"
  | "httpProxy"
  | "httpsProxy"
  | "noProxy"
  | "spoolDir"
  | "sources"
  | "otlp"
>;

/** Reports why records can't be sent, as soon as the reason is known, and what the user can do about it. */
export class DeliveryFailures {
  readonly #traffic: SharedTraffic;
  readonly #context: FailureContext;
  #hasReportedUnknownServer = false;

  constructor(traffic: SharedTraffic, context: FailureContext) {
    this.#traffic = traffic;
    this.#context = context;
  }

  /** The last failure; `undefined` if there was none. */
  get lastFailure(): DeliveryFailure | undefined {
    const failure = this.#traffic.lastFailure;
    if (failure === undefined) {
      return undefined;
    }
    const { isFinal: _isFinal, ...facts } = failure;
    return { ...facts, endpoint: this.#context.endpoint };
  }

  /** The last failure as text, for messages about lost records. */
  get lastFailureText(): string | undefined {
    const { lastFailure } = this;
    return lastFailure === undefined
      ? undefined
      : `Last failure, at ${new Date(lastFailure.at).toISOString()}: ${lastFailure.cause} (${lastFailure.endpoint})`;
  }

  /**
   * Logs the last failure, at most once per `logRepeatMs` for each kind. If the failure is temporary, the message says
   * that the records are kept and sent later, except when the client ends.
   */
  log(reporter: Reporter, { isClosing = false } = {}): void {
    const failure = this.#traffic.lastFailure;
    if (failure === undefined) {
      return;
    }
    const { isFinal, cause, code, status } = failure;
    const sentences = [cause, chooseAdvice(failure, this.#context)];
    if (isFinal) {
      reporter.log(`rejected ${code} ${status ?? ""}`, () => joinSentences(sentences));
      return;
    }
    const { endpoint, spoolDir } = this.#context;
    const location = spoolDir === undefined ? "in memory" : `in memory and in ${spoolDir}`;
    if (!isClosing) {
      sentences.push(`Records are kept ${location} and sent when ${endpoint} accepts them`);
    }
    reporter.log("serverUnavailable", () => joinSentences(sentences));
  }

  /**
   * Warns once if the server's `/info` has no version. The server may still accept runs, but the address may also
   * belong to a different service.
   */
  reportUnknownServer(ledger: Ledger, reporter: Reporter): void {
    if (this.#traffic.isServerVersionless && !this.#hasReportedUnknownServer) {
      this.#hasReportedUnknownServer = true;
      const { endpoint } = this.#context;
      ledger.countWarning("unknownServer");
      reporter.log(
        "unknownServer",
        () =>
          `${endpoint} responds to /info without a version, so it may not be a tracing server. Records count as delivered if it responds with 2xx; check ${nameEndpointSetting(this.#context)}`,
      );
    }
  }

  /** Records a failure if requests were sent, but neither a response nor a failure is known. */
  recordMissingResponse(): void {
    const { requests, responses, failures, connections } = this.#traffic;
    if (requests > 0 && responses === 0 && failures === 0) {
      const problem = connections === 0 ? "no connection was made" : "no response came";
      const cause = `Failed to send runs: ${problem} before the process ended`;
      this.#traffic.recordFailure({ at: Date.now(), cause, isFinal: false });
    }
  }
}

const joinSentences = (sentences: readonly string[]): string =>
  sentences.filter((sentence) => sentence !== "").join(". ");

/**
 * Advice for the user about a failure; empty if the cause already contains it, or waiting is
 * enough.
 */
function chooseAdvice({ cause, code, status }: RequestFailure, context: FailureContext): string {
  if (status === 401 || status === 403) {
    if (context.otlp !== undefined) {
      return "Check the key in the option otlp.headers";
    }
    return "Check the key: MILLRACE_API_KEY or LANGSMITH_API_KEY, or the option apiKey";
  }
  if (code === "CERTIFICATE") {
    return "";
  }
  const isUnreached = /ECONNREFUSED|no connection/.test(cause);
  // A request through a proxy connects only to the proxy, so a failure to connect concerns the proxy.
  if (/ the proxy /.test(cause) || (isUnreached && chooseProxy(context) !== undefined)) {
    const source = nameProxySource(context.endpoint, context.sources);
    return `Check ${source}, or list the server's host in ${nameNoProxySetting(context)}`;
  }
  if (context.socketPath !== undefined) {
    return "Check that a server listens at the option socketPath";
  }
  const setting = nameEndpointSetting(context);
  const url = new URL(context.endpoint);
  if (status === 404 && context.otlp !== undefined) {
    return `Check the path of ${setting}: it is used as it is, and ${suggestPath(url.pathname)}`;
  }
  if (
    isUnreached &&
    context.otlp === undefined &&
    isLoopback(url.hostname) &&
    url.protocol === "http:"
  ) {
    const isDefaultPort = new URL(defaultEndpoint).port === url.port;
    const command = `npx millrace serve${isDefaultPort ? "" : ` --port ${url.port || "80"}`}`;
    return `Start a server with "${command}", or set ${setting} to the address of your server`;
  }
  const isOverloaded = status !== undefined && (status === 429 || status >= 500);
  return isOverloaded ? "" : `Check that this is the address of your server: ${setting}`;
}

/** Names the usual paths for spans, except the one that the user already chose. */
function suggestPath(path: string): string {
  if (/\/otel\/v1\/traces\/?$/.test(path)) {
    return "a collector expects /v1/traces";
  }
  return /\/v1\/traces\/?$/.test(path)
    ? "a Millrace server expects /otel/v1/traces"
    : "a collector expects /v1/traces, a Millrace server /otel/v1/traces";
}

const defaultEndpoint = String(optionTable.endpoint.fallback);

/**
 * Names the setting that lists the hosts to reach without a proxy: the one that is set, otherwise those that can be
 * set.
 */
function nameNoProxySetting({ sources }: FailureContext): string {
  const source = sources.get("noProxy");
  if (source === undefined) {
    return "NO_PROXY (or the option noProxy)";
  }
  return source === "option" ? "the option noProxy" : source;
}

/**
 * Names the environment variable or the option that determined the endpoint, otherwise the settings that can change it.
 */
function nameEndpointSetting({ sources }: FailureContext): string {
  const source = sources.get("endpoint") ?? "option";
  if (source === "otlp") {
    return "the option otlp.url";
  }
  return source === "option" ? "MILLRACE_ENDPOINT (or the option endpoint)" : source;
}
