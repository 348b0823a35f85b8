import { isLoopback } from "../model/options/connection.ts";
import { optionTable } from "../model/options/option-table.ts";
import type { ResolvedOptions } from "../model/options/options.ts";
import type { FailedTry, SharedTraffic } from "../model/records/shared-traffic.ts";
import type { DeliveryFailure } from "../model/stats.ts";
import type { Ledger } from "../tracing/queue/ledger.ts";
import type { Reporter } from "./reporter.ts";

type Target = Pick<ResolvedOptions, "endpoint" | "socketPath" | "spoolDir" | "sources">;

/** Says why records can't be sent, as soon as it is known, and what to do about it. */
export class DeliveryFailures {
  readonly #traffic: SharedTraffic;
  readonly #target: Target;
  #hasReportedUnknownServer = false;

  constructor(traffic: SharedTraffic, target: Target) {
    this.#traffic = traffic;
    this.#target = target;
  }

  /** The newest; `undefined` where none was. */
  get last(): DeliveryFailure | undefined {
    const failure = this.#traffic.lastFailure;
    if (failure === undefined) {
      return undefined;
    }
    const { isFinal: _isFinal, ...facts } = failure;
    return { ...facts, endpoint: this.#target.endpoint };
  }

  /** The newest in words, for messages about what was lost. */
  get text(): string | undefined {
    const { last } = this;
    return last === undefined
      ? undefined
      : `Last failure, at ${new Date(last.at).toISOString()}: ${last.cause} (${last.endpoint})`;
  }

  /** Logs the newest failure, once a minute for each kind. At the end of the process it leaves out what would happen next. */
  log(reporter: Reporter, { isEnd = false } = {}): void {
    const failure = this.#traffic.lastFailure;
    if (failure === undefined) {
      return;
    }
    const { isFinal, cause, code, status } = failure;
    const sentences = [cause, hintFor(failure, this.#target)];
    if (isFinal) {
      reporter.log(`rejected ${code} ${status ?? ""}`, () => joined(sentences));
      return;
    }
    const { endpoint, spoolDir } = this.#target;
    const place = spoolDir === undefined ? "in memory" : `in memory and in ${spoolDir}`;
    if (!isEnd) {
      sentences.push(`What is recorded is kept ${place}, and sent when ${endpoint} takes it`);
    }
    reporter.log("away", () => joined(sentences));
  }

  /**
   * Warns once that the server names no version. It may accept runs all the same, but an address that is no server of
   * runs must not go unnoticed.
   */
  reportUnknownServer(ledger: Ledger, reporter: Reporter): void {
    if (this.#traffic.isServerStrange && !this.#hasReportedUnknownServer) {
      this.#hasReportedUnknownServer = true;
      const { endpoint } = this.#target;
      ledger.warn("unknownServer");
      reporter.log(
        "unknownServer",
        () =>
          `${endpoint} answers /info without a version: it may be no server of runs. What it answers with 2xx counts as delivered all the same; check ${endpointSetting(this.#target)}`,
      );
    }
  }

  /** Notes that nothing answers, where nothing else is known of the server. */
  noteSilence(): void {
    const { requests, responses, failures, connections } = this.#traffic;
    if (requests > 0 && responses === 0 && failures === 0) {
      const what = connections === 0 ? "no connection was made" : "no response came";
      const cause = `Failed to send runs: ${what} until the process ended`;
      this.#traffic.recordFailure({ at: Date.now(), cause, isFinal: false });
    }
  }
}

const joined = (sentences: readonly string[]): string =>
  sentences.filter((sentence) => sentence !== "").join(". ");

/** What the user can do about a failure; empty where the cause already names it, or waiting is enough. */
function hintFor({ cause, code, status }: FailedTry, target: Target): string {
  if (status === 401 || status === 403) {
    return "Check the key: MILLRACE_API_KEY, or the option apiKey";
  }
  if (code === "CERTIFICATE") {
    return "";
  }
  if (/ the proxy /.test(cause)) {
    return "Check the proxy: HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or the options httpProxy, httpsProxy and noProxy";
  }
  if (target.socketPath !== undefined) {
    return "Check that a server listens at the option socketPath";
  }
  const setting = endpointSetting(target);
  const url = new URL(target.endpoint);
  const isNobody = /ECONNREFUSED|no connection/.test(cause);
  if (isNobody && isLoopback(url.hostname) && url.protocol === "http:") {
    const isUsual = new URL(defaultEndpoint).port === url.port;
    const command = `npx millrace serve${isUsual ? "" : ` --port ${url.port || "80"}`}`;
    return `Start a server with "${command}", or set ${setting} to the address of yours`;
  }
  const isBusy = status !== undefined && (status === 429 || status >= 500);
  return isBusy ? "" : `Check that this is the address of your server: ${setting}`;
}

const defaultEndpoint = String(optionTable.endpoint.fallback);

/** The variable that set the endpoint; else what can. */
function endpointSetting({ sources }: Target): string {
  const source = sources.get("endpoint") ?? "option";
  return source === "option" ? "MILLRACE_ENDPOINT (or the option endpoint)" : source;
}
