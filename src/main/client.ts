import type { WirePatch, WirePost } from "../model/run.ts";
import { isTracingConfigured } from "../model/options/environment.ts";
import { isLogged } from "../model/options/log-level.ts";
import type { PlainOptions } from "../model/options/option-table.ts";
import { OptionError, ValidationError } from "../model/errors.ts";
import { optionTable } from "../model/options/option-table.ts";
import { checkKeys } from "../model/unknown-keys.ts";
import type { KeyTable } from "../model/unknown-keys.ts";
import { checkHeaders } from "../model/options/headers.ts";
import { assertOptionsObject, checkLogger, resolveOptions } from "../model/options/options.ts";
import type { OtlpOptions } from "../model/options/otlp-options.ts";
import type { ResolvedOptions } from "../model/options/options.ts";
import type { ClientStats, FlushResult, Logger } from "../model/stats.ts";
import { flushAll, registerClient, setClientFactory } from "../tracing/runs/default-client.ts";
import { recorder } from "../tracing/tape/recorder.ts";
import type { Recorder, TracingClient } from "../tracing/tape/recorder.ts";
import { startRun } from "../tracing/runs/context.ts";
import type { StartOptions } from "../tracing/runs/context.ts";
import { notifyFlush } from "../tracing/runs/flush-listeners.ts";
import { noopExchange, recordExchange } from "../tracing/runs/exchange-run.ts";
import type { ExchangeOptions, ExchangeRun } from "../tracing/runs/exchange-run.ts";
import { noopRun } from "../tracing/runs/run-tree.ts";
import type { RunTree } from "../tracing/runs/run-tree.ts";
import { uncountedLosses } from "../tracing/queue/ledger.ts";
import { createApi } from "./resources.ts";
import type { Api, Resources, Warn } from "./resources.ts";
import { PromptCounts } from "../model/records/prompt-counts.ts";
import { watchEnd } from "../delivery/lifecycle.ts";
import { consoleLogger, logFaults, logThrough } from "../delivery/reporter.ts";
import { Recording } from "../delivery/recording.ts";
import { redactValue } from "../delivery/redact-value.ts";
import { createRedactionPlan, createWorkerEnvironment } from "../delivery/shipping-options.ts";
import { SyncClient } from "./sync.ts";
import type { SyncResources } from "./sync.ts";
import { readTimeLimit } from "./time-limit.ts";
import type { TimeLimit } from "./time-limit.ts";

/** Options of a client. All of them are optional; docs/options.md lists them. */
export type ClientOptions = {
  readonly [Name in keyof PlainOptions]?: PlainOptions[Name] | undefined;
} & {
  /** Headers to send with every request. The header `x-api-key` can't be set here; use the option `apiKey`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Receives log messages. @defaultValue writes to standard error */
  readonly logger?: Logger | undefined;
  /**
   * Sends runs as spans to an OpenTelemetry backend, in place of a Millrace server. Calls of resources, such as
   * {@link Resources.datasets}, then throw an {@link OptionError}, because there is no server.
   */
  readonly otlp?: OtlpOptions | undefined;
};

/** The resources of the client, such as {@link Resources.projects}, are its properties. */
// The interface is merged with the class, so that a new resource needs no change here: the constructor assigns all
// resources.
// oxlint-disable-next-line typescript/no-empty-object-type, typescript/no-unsafe-declaration-merging -- see the comment above
export interface Client extends Resources {}

/**
 * Records runs and delivers them through worker threads. Recording never throws, never waits and never ends the
 * program; records that can't be delivered are counted in {@link (Client:class).stats}. Methods of its resources, such
 * as {@link Resources.projects}, send requests to the server, and throw an {@link SdkError} if they fail.
 *
 * @throws {@link OptionError} if the options are not an object, or one is unknown or has an invalid value.
 */
export class Client implements TracingClient {
  /** Internal: the runs of this client use it to record their data. Not for callers. */
  readonly [recorder]: Recorder;
  readonly #api: Api;
  readonly #sync: SyncClient;
  readonly #options: ResolvedOptions;
  readonly #recording: Recording;
  readonly #promptCounts = new PromptCounts();
  readonly #stopWatchingEnd: () => void;
  readonly #unregister: () => void;
  #closing: Promise<FlushResult> | undefined;

  constructor(options: ClientOptions = {}) {
    assertOptionsObject(options);
    checkKeys(options, clientKeys, { subject: "new Client", error: OptionError });
    this.#options = resolveOptions(options, process.env);
    const headers = this.#options.otlp?.headers ?? checkHeaders(options.headers);
    const logger = checkLogger(options.logger ?? consoleLogger);
    this.#recording = new Recording(this.#options, { headers, logger }, process.env);
    const warn: Warn = (message, topic) => {
      if (topic !== undefined) {
        this.#recording.warn(topic, message);
      } else if (isLogged("warn", this.#options.logLevel)) {
        logThrough(logger, "warn", message);
      }
    };
    this.#api = createApi(this.#options, headers, {
      warn,
      uploadThreads: this.#options.workers,
      env: createWorkerEnvironment(process.env),
      promptCounts: this.#promptCounts,
    });
    const { resources } = this.#api;
    Object.assign(this, resources);
    this.#sync = new SyncClient({
      resources,
      options: this.#options,
      headers,
      warn,
      promptCounts: this.#promptCounts,
    });
    this[recorder] = this.#recording;
    this.#unregister = registerClient(this, (timeoutMs) => this.flush({ timeoutMs }));
    this.#stopWatchingEnd = watchEnd(this.#recording);
  }

  /**
   * The same resources with methods that block until the result is available, for scripts, configuration and REPLs.
   * Lists are arrays, and the option `timeoutMs` replaces `signal`. The calls run in a worker thread, which starts at
   * the first call.
   *
   * @throws {@link WorkerError} from each call if the worker can't start, or ends during the call.
   */
  get sync(): SyncResources {
    return this.#sync.resources;
  }

  /**
   * Whether the client records runs: the option `enabled`, unless an environment variable that controls tracing, such
   * as `MILLRACE_TRACING`, is false.
   */
  get enabled(): boolean {
    return this.#options.enabled;
  }

  /** The recursion limit in the configs of LangChain's runnables, which `toRunnableConfig` creates. */
  get recursionLimit(): number {
    return this.#options.recursionLimit;
  }

  /** Starts a run as a child of `parent`, or of the current run by default, and records it at once. Never throws. */
  startRun(options: StartOptions = {}): RunTree {
    try {
      return startRun(this, options);
    } catch {
      // The program called this method when its stack was exhausted. `startRun` throws only in this case.
      localUncountedLosses.records += 1;
      return localNoopRun;
    }
  }

  /**
   * Records a call of a remote API as a run. The bytes of the request are recorded at once; add the bytes of the
   * response with the returned object. A worker thread reads inputs and outputs from these bytes (docs/fetch.md). Never
   * throws.
   */
  recordExchange(options: ExchangeOptions): ExchangeRun {
    try {
      return recordExchange(this, options);
    } catch {
      // The program's stack is exhausted, as in `startRun`.
      localUncountedLosses.records += 1;
      return localNoopExchange;
    }
  }

  /**
   * Records a run in wire format. Resolves at once and never rejects. A malformed run, or one without an id, is counted
   * as lost with the reason `invalid`.
   */
  createRun(run: WirePost): Promise<void> {
    try {
      this.#recording.recordWire("post", readId(run), run);
    } catch {
      // The program's stack is exhausted, as in `startRun`.
      localUncountedLosses.records += 1;
    }
    return resolvedPromise;
  }

  /** Records an update of a run in wire format. Behaves like {@link (Client:class).createRun}. */
  updateRun(id: string, patch: WirePatch): Promise<void> {
    try {
      this.#recording.recordWire("patch", id, patch);
    } catch {
      // The program's stack is exhausted, as in `startRun`.
      localUncountedLosses.records += 1;
    }
    return resolvedPromise;
  }

  /**
   * Returns a value as the option `redact` would leave it in a run: with the matches of its rules masked. Use it for
   * values that a program stores elsewhere, for example in a log. Without rules the value itself is returned, otherwise
   * a copy that was converted to JSON and back.
   */
  async redact(value: unknown): Promise<unknown> {
    const plan = createRedactionPlan(this.#options);
    return plan === undefined ? value : redactValue(value, plan);
  }

  /**
   * Sends everything recorded before the call, and waits until the outcome of every record is known, but not longer
   * than the time limit. The client stays open. With the option `otlp`, the call does not wait for runs that have not
   * ended: the result counts their records as pending.
   */
  flush(limit: TimeLimit = {}): Promise<FlushResult> {
    const timeoutMs = readTimeLimit("client.flush", limit);
    if (timeoutMs instanceof ValidationError) {
      return Promise.reject(timeoutMs);
    }
    notifyFlush({ client: this, isFinal: false });
    return this.#recording.flush(timeoutMs);
  }

  /**
   * With `overflow: "block"`: waits until the queue has capacity, but not longer than the time limit. Resolves to true
   * when there is capacity, and to false if the time elapsed or the client was closed. Recording continues in both
   * cases: a full queue drops new records and counts them. Waiting callers are admitted in order. With the other
   * overflow policies the result is true at once, because they drop or spool records instead.
   */
  waitForCapacity(limit: TimeLimit = {}): Promise<boolean> {
    const timeoutMs = readTimeLimit("client.waitForCapacity", limit);
    return timeoutMs instanceof ValidationError
      ? Promise.reject(timeoutMs)
      : this.#recording.waitForCapacity(timeoutMs ?? this.#options.drainTimeoutMs);
  }

  /** Refuses new records, which are then counted as lost with the reason `closed`, and flushes. */
  drain(limit: TimeLimit = {}): Promise<FlushResult> {
    const timeoutMs = readTimeLimit("client.drain", limit);
    if (timeoutMs instanceof ValidationError) {
      return Promise.reject(timeoutMs);
    }
    notifyFlush({ client: this, isFinal: true });
    return this.#recording.drain(timeoutMs);
  }

  /**
   * Drains, then releases threads, sockets and files. Calls of resources that are still in progress fail with
   * {@link ClosedError}. A closed client can't be opened again; a second call waits for the first. Records that could
   * not be delivered in time are spooled, or counted as lost with the reason `closed` if there is no spool.
   */
  close(limit: TimeLimit = {}): Promise<FlushResult> {
    const timeoutMs = readTimeLimit("client.close", limit);
    if (timeoutMs instanceof ValidationError) {
      return Promise.reject(timeoutMs);
    }
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  /** Counts of all records by outcome, statistics of the requests that sent them, and counts of prompts by source. */
  stats(): ClientStats {
    return { ...this.#recording.stats(), prompts: this.#promptCounts.read() };
  }

  async #close(timeoutMs: number | undefined): Promise<FlushResult> {
    notifyFlush({ client: this, isFinal: true });
    this.#unregister();
    const result = await this.#recording.close(timeoutMs);
    await Promise.all([this.#api.close(), this.#sync.close()]);
    this.#stopWatchingEnd();
    return result;
  }
}

/**
 * Flushes every open client of this process, as {@link (Client:class).flush} does for one, and sums the results. Use it
 * where no client is available, for example in a serverless function before it returns.
 */
export const flush = (limit: TimeLimit = {}): Promise<FlushResult> => {
  const timeoutMs = readTimeLimit("flush", limit);
  return timeoutMs instanceof ValidationError ? Promise.reject(timeoutMs) : flushAll(timeoutMs);
};

/** Local copies: after bundling, an import may be a getter, which can't be called when the stack is exhausted. */
const [localUncountedLosses, localNoopRun, localNoopExchange] = [
  uncountedLosses,
  noopRun,
  noopExchange,
];
const resolvedPromise = Promise.resolve();

/** The names of all client options: those of the option table, and three that have no environment variable. */
const clientKeys: KeyTable<ClientOptions> = {
  ...optionTable,
  headers: true,
  logger: true,
  otlp: true,
};

/** Returns the run's `id`. A JavaScript caller may pass anything as a run. */
function readId(run: unknown): unknown {
  return typeof run === "object" && run !== null && "id" in run ? run.id : undefined;
}

setClientFactory(() => {
  const { env } = process;
  try {
    if (isTracingConfigured(env)) {
      return new Client();
    }
    // The environment does not turn tracing on. Log invalid values of the variables that control tracing, because they
    // may have been meant to turn it on.
    const { environmentFaults, logLevel } = resolveOptions({}, env);
    const tracingFaults = environmentFaults.filter(({ option }) => option === "enabled");
    logFaults(tracingFaults, consoleLogger, logLevel);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    logThrough(
      consoleLogger,
      "error",
      `Runs are not recorded, because creating the client failed: ${reason}`,
    );
  }
  return undefined;
});
