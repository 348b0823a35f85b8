import type { AnnotationQueues } from "../api/annotation-queues.ts";
import type { Datasets } from "../api/datasets/datasets.ts";
import type { Examples } from "../api/datasets/examples.ts";
import type { Experiments } from "../api/experiments.ts";
import type { Feedbacks } from "../api/feedback.ts";
import type { Projects } from "../api/projects.ts";
import type { Prompts } from "../api/prompts/prompts.ts";
import type { Runs } from "../api/runs/runs.ts";
import type { Tenant } from "../api/tenant.ts";
import type { WirePatch, WirePost } from "../model/run.ts";
import { isTracingConfigured } from "../model/options/environment.ts";
import { isLogged } from "../model/options/log-level.ts";
import type { PlainOptions } from "../model/options/option-table.ts";
import { OptionError, ValidationError } from "../model/errors.ts";
import { optionTable } from "../model/options/option-table.ts";
import { checkKeys, unknownKeysOf, unknownKeyText } from "../model/unknown-keys.ts";
import type { KeyTable } from "../model/unknown-keys.ts";
import { checkHeaders, checkLogger, resolveOptions } from "../model/options/options.ts";
import type { ResolvedOptions } from "../model/options/options.ts";
import type { ClientStats, FlushResult, Logger } from "../model/stats.ts";
import { flushAll, registerClient, setClientFactory } from "../tracing/runs/default-client.ts";
import { recorder } from "../tracing/tape/recorder.ts";
import type { Recorder, TracingClient } from "../tracing/tape/recorder.ts";
import { startRun } from "../tracing/runs/context.ts";
import type { StartOptions } from "../tracing/runs/context.ts";
import type { RunTree } from "../tracing/runs/run-tree.ts";
import { uncounted } from "../tracing/queue/stack-room.ts";
import { noopRun } from "../tracing/runs/noop-run.ts";
import { createApi } from "./api.ts";
import type { Api } from "./api.ts";
import { watchEnd } from "../delivery/lifecycle.ts";
import { consoleLogger, logFaults, logThrough } from "../delivery/reporter.ts";
import { Recording } from "../delivery/recording.ts";
import { workerEnvironment } from "../delivery/shipping-options.ts";
import { Sync } from "./sync.ts";
import type { SyncResources } from "./sync.ts";

/** What a client is made with; all of it is optional. The table is in docs/options.md. */
export type ClientOptions = {
  readonly [Name in keyof PlainOptions]?: PlainOptions[Name] | undefined;
} & {
  /** Headers sent with every request; `x-api-key` is not among them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Where warnings go. @defaultValue standard error */
  readonly logger?: Logger | undefined;
};

/** How long a call may wait. */
export interface TimeLimit {
  /** @defaultValue the option `drainTimeoutMs`; less where it has its default and the server was never reached */
  readonly timeoutMs?: number | undefined;
}

/**
 * Records runs and delivers them through worker threads. Recording never throws, never waits and
 * never ends the program; what can't be delivered is counted in {@link Client.stats}. Its resources, such
 * as {@link Client.projects}, ask the server and answer; their failures throw an {@link SdkError}.
 *
 * @throws {@link OptionError} an option has a value that it can't have.
 */
export class Client implements TracingClient {
  /** Where runs are recorded: wiring between client and runs, not for callers. */
  readonly [recorder]: Recorder;
  /** Where runs are filed. */
  readonly projects: Projects;
  /** The prompt hub. */
  readonly prompts: Prompts;
  /** Runs, read back. */
  readonly runs: Runs;
  /** Examples to measure by, in versions and splits. */
  readonly datasets: Datasets;
  /** The cases that datasets hold. */
  readonly examples: Examples;
  /** Projects over a dataset, side by side. */
  readonly experiments: Experiments;
  /** Judgements on runs and projects. */
  readonly feedback: Feedbacks;
  /** Runs in line for review by people. */
  readonly annotationQueues: AnnotationQueues;
  /** What the key belongs to. */
  readonly tenant: Tenant;
  readonly #api: Api;
  readonly #sync: Sync;
  readonly #options: ResolvedOptions;
  readonly #recording: Recording;
  readonly #unwatch: () => void;
  readonly #unregister: () => void;
  #closing: Promise<FlushResult> | undefined;

  constructor(options: ClientOptions = {}) {
    checkKeys(options, clientKeys, { what: "new Client", error: OptionError });
    this.#options = resolveOptions(options, process.env);
    const headers = checkHeaders(options.headers);
    const logger = checkLogger(options.logger ?? consoleLogger);
    this.#recording = new Recording(this.#options, { headers, logger }, process.env);
    const warn = (message: string): void => {
      if (isLogged("warn", this.#options.logLevel)) {
        logThrough(logger, "warn", message);
      }
    };
    this.#api = createApi(this.#options, headers, {
      warn,
      uploadThreads: this.#options.workers,
      env: workerEnvironment(process.env),
    });
    this.projects = this.#api.projects;
    this.prompts = this.#api.prompts;
    this.runs = this.#api.runs;
    this.datasets = this.#api.datasets;
    this.examples = this.#api.examples;
    this.experiments = this.#api.experiments;
    this.feedback = this.#api.feedback;
    this.annotationQueues = this.#api.annotationQueues;
    this.tenant = this.#api.tenant;
    this.#sync = new Sync({ api: this.#api, options: this.#options, headers, warn });
    this[recorder] = this.#recording;
    this.#unregister = registerClient(this, (timeoutMs) => this.flush({ timeoutMs }));
    this.#unwatch = watchEnd(this.#recording);
  }

  /**
   * The same resources with calls that block until the answer is there, for scripts, configuration and
   * REPLs: lists are arrays, and `timeoutMs` takes the place of `signal`. They are made in a worker
   * thread that starts at the first call.
   *
   * @throws {@link WorkerError} by each call: the worker can't start, or ended.
   */
  get sync(): SyncResources {
    return this.#sync.resources;
  }

  /** Starts a run below its `parent`, else below the current run, and records it at once. */
  startRun(options: StartOptions = {}): RunTree {
    try {
      return startRun(this, options);
    } catch {
      // The stack is exhausted; nothing else is thrown there.
      counted.records += 1;
      return noop;
    }
  }

  /**
   * Records a run that is wire-shaped already. Resolves at once and never rejects: a run that is
   * none, or has no id, is counted as lost, `invalid`.
   */
  createRun(run: WirePost): Promise<void> {
    try {
      this.#recording.recordWire("post", idOf(run), run);
    } catch {
      counted.records += 1;
    }
    return done;
  }

  /** Records part of a run that is wire-shaped already; as {@link Client.createRun}. */
  updateRun(id: string, patch: WirePatch): Promise<void> {
    try {
      this.#recording.recordWire("patch", id, patch);
    } catch {
      counted.records += 1;
    }
    return done;
  }

  /**
   * Sends what was recorded before the call, and waits for it within the limit. The client stays open.
   */
  flush({ timeoutMs, ...rest }: TimeLimit = {}): Promise<FlushResult> {
    return refuseExtraArguments("flush", rest) ?? this.#recording.flush(timeoutMs);
  }

  /**
   * With `overflow: "block"`: waits until the queue has room, at most `timeoutMs`. True when it has,
   * false when the time is over or the client was closed; recording goes on either way, and at the
   * bound new records are dropped and counted. Callers are let through in turn. With the other policies
   * something else gives way, and the answer is true at once.
   */
  waitForCapacity({
    timeoutMs = this.#options.drainTimeoutMs,
    ...rest
  }: TimeLimit = {}): Promise<boolean> {
    return (
      refuseExtraArguments("waitForCapacity", rest) ?? this.#recording.waitForCapacity(timeoutMs)
    );
  }

  /** Refuses new runs (they are counted as lost, `closed`), then flushes. */
  drain({ timeoutMs, ...rest }: TimeLimit = {}): Promise<FlushResult> {
    return refuseExtraArguments("drain", rest) ?? this.#recording.drain(timeoutMs);
  }

  /**
   * Drains, then gives back threads, sockets and files; calls of resources that are still under way end
   * with {@link ClosedError}. Final; a second call waits for the first.
   * What could not be delivered in time is spooled, or counted as lost, `closed`.
   */
  close({ timeoutMs, ...rest }: TimeLimit = {}): Promise<FlushResult> {
    const refused = refuseExtraArguments("close", rest);
    if (refused !== undefined) {
      return refused;
    }
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  /** What became of all that was recorded. */
  stats(): ClientStats {
    return this.#recording.stats();
  }

  async #close(timeoutMs: number | undefined): Promise<FlushResult> {
    this.#unregister();
    const result = await this.#recording.close(timeoutMs);
    await Promise.all([this.#api.close(), this.#sync.close()]);
    this.#unwatch();
    return result;
  }
}

/**
 * Flushes every open client of this process, as {@link Client.flush} does one, and adds up what became of
 * their records: for handlers that know no client, such as a serverless function's before it returns.
 */
export const flush = ({ timeoutMs }: TimeLimit = {}): Promise<FlushResult> => flushAll(timeoutMs);

/** Bindings of this module's own: in a bundle an import may be a getter, for which there is no stack. */
const [counted, noop] = [uncounted, noopRun];
const done = Promise.resolve();

/** The options of a client: those of the table, and the two that have no variable. */
const clientKeys: KeyTable<ClientOptions> = { ...optionTable, headers: true, logger: true };

/** The rejection of a call with unknown options; `undefined` where all are known. */
function refuseExtraArguments(call: string, rest: object): Promise<never> | undefined {
  const [unknown] = unknownKeysOf(rest, ["timeoutMs"]);
  return unknown === undefined
    ? undefined
    : Promise.reject(new ValidationError(`client.${call}: ${unknownKeyText("option", unknown)}`));
}

/** The id of what a caller without types may pass. */
function idOf(run: unknown): unknown {
  return typeof run === "object" && run !== null && "id" in run ? run.id : undefined;
}

setClientFactory(() => {
  const { env } = process;
  try {
    if (isTracingConfigured(env)) {
      return new Client();
    }
    // Nothing is recorded; a tracing variable that can't be read may have meant otherwise.
    const { faults, logLevel } = resolveOptions({}, env);
    const about = faults.filter(({ option }) => option === "enabled");
    logFaults(about, consoleLogger, logLevel);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    logThrough(consoleLogger, "error", `Nothing is recorded, as no client can be made: ${why}`);
  }
  return undefined;
});
