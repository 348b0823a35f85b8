import { createRequire } from "node:module";
import { ClosedError } from "../model/errors.ts";
import { findOptionProblem } from "../model/options/options.ts";
import type { ResolvedOptions } from "../model/options/options.ts";
import { BlockingWorker } from "../api/sync/blocking-worker.ts";
import type { BlockingCall } from "../api/sync/blocking-worker.ts";
import { createSyncFacade } from "../api/sync/sync-facade.ts";
import type { BlockingResources } from "../api/sync/sync-facade.ts";
import type { Outcome } from "../api/sync/protocol.ts";
import { isHandlingRequest, watchRequests } from "../api/sync/request-context.ts";
import type { Resources, Warn } from "./resources.ts";
import type { PromptCounts } from "../model/records/prompt-counts.ts";
import type { WarningKind } from "../tracing/tape/recorder.ts";
import { createWorkerEnvironment } from "../delivery/shipping-options.ts";

/** Every resource of the client, with methods that block until the result is available. */
export type SyncResources = BlockingResources<Resources>;

/** Constructor arguments of {@link SyncClient}. */
export interface SyncInit {
  readonly resources: Resources;
  readonly options: ResolvedOptions;
  readonly headers: Readonly<Record<string, string>>;
  readonly warn: Warn;
  readonly promptCounts: PromptCounts;
}

/** The data that the worker thread needs to create the same resources as the client. */
export interface SyncData {
  readonly options: ResolvedOptions;
  readonly headers: Readonly<Record<string, string>>;
  /** Memory of the counts of `prompts.get`, which both threads write. */
  readonly promptCountMemory: SharedArrayBuffer;
}

/** Implements `client.sync`. It starts a worker thread at the first call, and a new one if that worker has ended. */
export class SyncClient {
  readonly #init: SyncInit;
  #resources: SyncResources | undefined;
  #worker: BlockingWorker | undefined;
  #isClosed = false;
  #hasWarned = false;

  constructor(init: SyncInit) {
    this.#init = init;
  }

  get resources(): SyncResources {
    this.#resources ??= this.#createFacade();
    return this.#resources;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.close();
  }

  #createFacade(): SyncResources {
    watchRequests();
    return createSyncFacade<Resources>(this.#init.resources, {
      timeoutMs: this.#init.options.syncTimeoutMs,
      findTimeoutProblem: (value) => findOptionProblem("syncTimeoutMs", value),
      call: (call) => this.#callInWorker(call),
    });
  }

  #callInWorker(call: BlockingCall): Outcome {
    const { resource, method } = call;
    if (this.#isClosed) {
      throw new ClosedError(
        `Failed to make the call client.sync.${resource}.${method}: the client is closed. Make the call before client.close(), or create another Client`,
      );
    }
    if (!this.#hasWarned && isHandlingRequest()) {
      this.#hasWarned = true;
      this.#init.warn(
        `client.sync.${resource}.${method} was called while handling a request: it blocks all other requests until it returns; await client.${resource}.${method} instead`,
      );
    }
    if (this.#worker === undefined || this.#worker.hasEnded) {
      this.#worker = this.#startWorker();
    }
    return this.#worker.call(call);
  }

  #startWorker(): BlockingWorker {
    const { options, headers, promptCounts, warn } = this.#init;
    // The options replaced here may be functions, which can't be sent to a worker. The worker records no runs, so it
    // does not need these options.
    const cloneableOptions = {
      ...options,
      hideInputs: false,
      hideOutputs: false,
      hideMetadata: false,
    };
    return new BlockingWorker({
      path: createRequire(import.meta.url).resolve("#main/sync.worker"),
      data: {
        options: cloneableOptions,
        headers,
        promptCountMemory: promptCounts.memory,
      } satisfies SyncData,
      env: createWorkerEnvironment(process.env),
      warn: (message, topic) => warn(message, topic as WarningKind | undefined),
    });
  }
}
