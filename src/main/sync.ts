import { createRequire } from "node:module";
import { ClosedError } from "../model/errors.ts";
import { problemWith } from "../model/options/options.ts";
import type { ResolvedOptions } from "../model/options/options.ts";
import { BlockingWorker } from "../api/sync/blocking-worker.ts";
import type { BlockingCall } from "../api/sync/blocking-worker.ts";
import { createSyncFacade } from "../api/sync/sync-facade.ts";
import type { BlockingResources } from "../api/sync/sync-facade.ts";
import type { Outcome } from "../api/sync/protocol.ts";
import { isHandlingRequest, watchRequests } from "../api/sync/request-context.ts";
import type { Api } from "./api.ts";
import type { Resources } from "./resources.ts";
import { workerEnvironment } from "../delivery/shipping-options.ts";

/** Every resource of the client, with calls that block until the answer is there. */
export type SyncResources = BlockingResources<Resources>;

export interface SyncParts {
  readonly api: Api;
  readonly options: ResolvedOptions;
  readonly headers: Readonly<Record<string, string>>;
  /** Where warnings go. */
  readonly warn: (message: string) => void;
}

/** What the worker is given to make the same resources from. */
export interface SyncData {
  readonly options: ResolvedOptions;
  readonly headers: Readonly<Record<string, string>>;
}

/** `client.sync`. Starts a worker at the first call, and another when that one is over. */
export class Sync {
  readonly #parts: SyncParts;
  #resources: SyncResources | undefined;
  #worker: BlockingWorker | undefined;
  #isClosed = false;
  #hasWarned = false;

  constructor(parts: SyncParts) {
    this.#parts = parts;
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
    const { close: _, ...resources } = this.#parts.api;
    return createSyncFacade<Resources>(resources, {
      timeoutMs: this.#parts.options.syncTimeoutMs,
      problemWithTimeout: (value) => problemWith("syncTimeoutMs", value),
      call: (call) => this.#call(call),
    });
  }

  #call(call: BlockingCall): Outcome {
    const { resource, method } = call;
    if (this.#isClosed) {
      throw new ClosedError(
        `Failed to make the call client.sync.${resource}.${method}: the client is closed. Make the call before client.close(), or make another Client`,
      );
    }
    if (!this.#hasWarned && isHandlingRequest()) {
      this.#hasWarned = true;
      this.#parts.warn(
        `client.sync.${resource}.${method} was called while handling a request: it stops every other request until the answer is there; await client.${resource}.${method} instead`,
      );
    }
    if (this.#worker === undefined || this.#worker.isOver) {
      this.#worker = this.#start();
    }
    return this.#worker.call(call);
  }

  #start(): BlockingWorker {
    const { options, headers } = this.#parts;
    // What hides is a function that can't cross; the worker records nothing.
    const plain = { ...options, hideInputs: false, hideOutputs: false, hideMetadata: false };
    return new BlockingWorker({
      path: createRequire(import.meta.url).resolve("#main/sync.worker"),
      data: { options: plain, headers } satisfies SyncData,
      env: workerEnvironment(process.env),
      warn: this.#parts.warn,
    });
  }
}
