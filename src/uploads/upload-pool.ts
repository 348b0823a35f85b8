import { createRequire } from "node:module";
import type { Piscina } from "piscina";
import type { ChunkReply, ChunkShipper, ChunkTask } from "./chunk-task.ts";
import { WorkerError } from "../model/errors.ts";
import type { ShippingOptions } from "../model/records/shipping.ts";
import { packError } from "../api/sync/packed-error.ts";

/** Data that an upload worker receives when it starts. */
export interface UploadWorkerData {
  readonly shipping: ShippingOptions;
}

/** Options of {@link UploadPool}. */
export interface UploadPoolOptions extends UploadWorkerData {
  /** Number of worker threads; 0 sends from the current thread. */
  readonly threads: number;
  /** The environment variables of the workers. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Limit of V8's young generation in each worker, in megabytes. Everything that a worker allocates for a chunk is
 * garbage once the chunk is sent. With a higher limit, the bodies of sent requests stay in memory longer: an upload
 * takes tens of megabytes more and is not faster.
 */
const youngGenerationMegabytes = 8;

/**
 * A worker that is idle for this many milliseconds ends. Uploads are rare, so the memory of idle workers should be
 * freed soon.
 */
const idleMs = 2_000;

/**
 * Worker threads for uploads, separate from those that send runs, so that a long upload does not delay runs. They start
 * with the first chunk and end when they are idle. If no worker can start, the current thread does the work.
 */
export class UploadPool implements ChunkShipper {
  readonly #options: UploadPoolOptions;
  #piscina: Promise<Piscina<ChunkTask, ChunkReply>> | undefined;
  #startedInlineShipper: Promise<ChunkShipper> | undefined;
  #hasSucceeded = false;

  constructor(options: UploadPoolOptions) {
    this.#options = options;
  }

  async ship(task: ChunkTask): Promise<ChunkReply> {
    if (this.#options.threads > 0 && this.#startedInlineShipper === undefined) {
      try {
        this.#piscina ??= this.#createPool();
        const reply = await (await this.#piscina).run(task);
        this.#hasSucceeded = true;
        return reply;
      } catch (error) {
        if (this.#hasSucceeded) {
          // A worker crashed. Piscina starts another one, and the rows that have no outcome yet are sent again.
          return createLostReply(error);
        }
      }
    }
    this.#startedInlineShipper ??= createInlineShipper(this.#options);
    return (await this.#startedInlineShipper).ship(task);
  }

  /** Ends the workers and abandons the chunks in progress. May be called twice. */
  async close(): Promise<void> {
    await (await this.#piscina)?.destroy();
  }

  /** Starts the pool. Piscina is imported here, so that a client without uploads does not load it. */
  async #createPool(): Promise<Piscina<ChunkTask, ChunkReply>> {
    const { Piscina } = await import("piscina");
    const { threads, env, shipping } = this.#options;
    const data: UploadWorkerData = { shipping };
    const pool = new Piscina<ChunkTask, ChunkReply>({
      filename: createRequire(import.meta.url).resolve("#uploads/upload.task"),
      minThreads: 0,
      maxThreads: threads,
      concurrentTasksPerWorker: 64,
      idleTimeout: idleMs,
      resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMegabytes },
      // By default Piscina blocks an idle worker's event loop between tasks, and with it the worker's connections.
      atomics: "disabled",
      recordTiming: false,
      // Without this, modules that the program preloads (`--import`) would run in every worker.
      execArgv: [],
      env,
      workerData: { options: data },
    });
    // Without a listener, an error event of a worker would end the process. The promises of the worker's chunks reject
    // anyway, so the error is not lost.
    pool.on("error", () => undefined);
    return pool;
  }
}

const createLostReply = (cause: unknown): ChunkReply => ({
  created: 0,
  skipped: 0,
  rejected: [],
  bytes: 0,
  failure: packError(new WorkerError("the worker that sent the rows crashed", { cause })),
});

/** Creates the object that sends chunks from the current thread. Its module is imported only when it is needed. */
async function createInlineShipper(data: UploadWorkerData): Promise<ChunkShipper> {
  const { createChunkWork } = await import("./chunk-work.ts");
  return createChunkWork(data);
}
