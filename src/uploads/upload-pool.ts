import { createRequire } from "node:module";
import type { Piscina } from "piscina";
import type { ChunkReply, ChunkShipper, ChunkTask } from "./chunk-task.ts";
import { WorkerError } from "../model/errors.ts";
import type { ShippingOptions } from "../model/records/shipping.ts";
import { packError } from "../api/sync/packed-error.ts";

/** What a worker that uploads needs to know: crosses to it when it starts. */
export interface UploadWorkerData {
  readonly shipping: ShippingOptions;
}

export interface UploadPoolOptions extends UploadWorkerData {
  /** Threads; 0 sends from this thread. */
  readonly threads: number;
  /** The environment that workers see. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * What a thread makes for a chunk is garbage when it is answered. With more room for the young of it than this
 * bodies that were sent lie about longer, and an upload takes tens of megabytes more; its speed is the same.
 */
const youngMegabytes = 8;

/** Idle for so long, a thread ends: an upload is rare, and what it took is given back. */
const idleMs = 2_000;

/**
 * The threads behind uploads, beside those that send runs: an upload of hours delays no run. They start
 * with the first chunk and end when there is nothing more; where none can start, this thread does it.
 */
export class UploadPool implements ChunkShipper {
  readonly #options: UploadPoolOptions;
  #piscina: Promise<Piscina<ChunkTask, ChunkReply>> | undefined;
  #inline: Promise<ChunkShipper> | undefined;
  #worked = false;

  constructor(options: UploadPoolOptions) {
    this.#options = options;
  }

  async ship(task: ChunkTask): Promise<ChunkReply> {
    if (this.#options.threads > 0 && this.#inline === undefined) {
      try {
        this.#piscina ??= this.#start();
        const answer = await (await this.#piscina).run(task);
        this.#worked = true;
        return answer;
      } catch (error) {
        if (this.#worked) {
          // A thread that worked died: another takes its place, and what is not marked on the tape is sent again.
          return lostBy(error);
        }
      }
    }
    this.#inline ??= startInline(this.#options);
    return (await this.#inline).ship(task);
  }

  /** Ends the threads; chunks under way are given up. May be called twice. */
  async close(): Promise<void> {
    await (await this.#piscina)?.destroy();
  }

  /** Loads what it needs: a client that uploads nothing loads none of it. */
  async #start(): Promise<Piscina<ChunkTask, ChunkReply>> {
    const { Piscina } = await import("piscina");
    const { threads, env, shipping } = this.#options;
    const data: UploadWorkerData = { shipping };
    const pool = new Piscina<ChunkTask, ChunkReply>({
      filename: createRequire(import.meta.url).resolve("#uploads/upload.task"),
      minThreads: 0,
      maxThreads: threads,
      concurrentTasksPerWorker: 64,
      idleTimeout: idleMs,
      resourceLimits: { maxYoungGenerationSizeMb: youngMegabytes },
      // The default freezes a worker between tasks, and with it its connections.
      atomics: "disabled",
      recordTiming: false,
      // Preloads of the program would run in every worker.
      execArgv: [],
      env,
      workerData: { options: data },
    });
    // Without a listener a late error of a worker ends the program. Its chunks reject on their own.
    pool.on("error", () => undefined);
    return pool;
  }
}

const lostBy = (cause: unknown): ChunkReply => ({
  created: 0,
  skipped: 0,
  rejected: [],
  bytes: 0,
  failure: packError(new WorkerError("the worker that sent the rows died", { cause })),
});

/** The same work on this thread; loaded only where it is needed. */
async function startInline(data: UploadWorkerData): Promise<ChunkShipper> {
  const { chunkWorkOf } = await import("./chunk-work.ts");
  return chunkWorkOf(data);
}
