import { Worker } from "node:worker_threads";
import { toDistFileUrl } from "../storage/dist-files.ts";
import { ServerError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { threadOptions, waitForFirstMessage, waitForExit } from "../storage/threads.ts";
import type { ActivityListener } from "../runs/activity.ts";
import { batchMemory } from "../runs/batch-memory.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import { packPosts } from "../runs/sqlite/post-rows.ts";
import type { SchemaCheckResult } from "../datasets/examples/schemas/schema-checks.ts";
import type { ResourceCall } from "../storage/thread-reply.ts";
import { PendingWrites } from "./pending-writes.ts";
import type { WriteContext } from "./writer-origin.ts";
import type {
  WriterCall,
  WriterMessage,
  WriterRequest,
  WriterResources,
} from "./writer-protocol.ts";

/** Sent to a thread whose start takes too long: it ends itself once it has opened the database. */
const closeCall: WriterCall = { sequence: 0, request: { kind: "close" } };

/** The main thread's handle for the writer thread. Counts the bytes of requests that are not committed yet. */
export class WriterThread {
  readonly #worker: Worker;
  readonly #pending = new PendingWrites(
    "data arrives faster than the disk can write it; retry later",
  );
  readonly #ended: Promise<void>;
  /** Called after each commit with the counts of the runs that it stored. */
  readonly #activityListeners: ActivityListener[] = [];
  #readOnlyReason: string | undefined;

  private constructor(worker: Worker, readOnlyReason: string | undefined) {
    this.#worker = worker;
    this.#readOnlyReason = readOnlyReason;
    worker.on("message", (message: WriterMessage) => this.#onMessage(message));
    // The `exit` event follows and rejects all pending calls.
    worker.on("error", () => undefined);
    this.#ended = new Promise((resolve) => {
      worker.once("exit", () => {
        this.#pending.rejectAll();
        resolve();
      });
    });
  }

  /** Adds a listener that is called after each commit with the counts of the runs that the commit stored. */
  onActivity(listener: ActivityListener): void {
    this.#activityListeners.push(listener);
  }

  /** @throws ServerError the database can't be opened. */
  static async start(path: string): Promise<WriterThread> {
    const worker = new Worker(toDistFileUrl("writer.worker.js"), {
      ...threadOptions,
      name: "millrace-writer",
      workerData: path,
    });
    const firstMessage = (await waitForFirstMessage(
      worker,
      closeCall,
      serverLimits.conversionMs,
    )) as WriterMessage;
    if (firstMessage.kind === "ready") {
      return new WriterThread(worker, firstMessage.readOnlyReason);
    }
    // The thread has closed the database and ends by itself.
    await waitForExit(worker);
    const reason = firstMessage.kind === "failedToStart" ? firstMessage.reason : firstMessage.kind;
    throw new ServerError("DATA_DIR", `Failed to open ${path}: ${reason}`);
  }

  /** Why only deletions are accepted; `undefined` while all writes are accepted. */
  get readOnlyReason(): string | undefined {
    return this.#readOnlyReason;
  }

  /** Stores a batch; resolves when it is committed. The batch's payload buffer is transferred to the thread. */
  async ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    const groupedBatch = "packed" in batch ? batch : packPosts(batch);
    const result = await this.#call(
      { kind: "ingest", tenantId, batch: groupedBatch },
      batch.bodies,
    );
    return result as IngestResult;
  }

  /** Calls a method of a resource; resolves when the change is committed. */
  write(
    call: ResourceCall<WriterResources>,
    checkResults: readonly SchemaCheckResult[] = [],
    { author, audit }: WriteContext = {},
  ): Promise<unknown> {
    return this.#call({
      ...call,
      kind: "write",
      checkResults,
      ...(author && { author }),
      ...(audit && { audit }),
    });
  }

  #call(request: WriterRequest, bodies?: Uint8Array<ArrayBuffer>): Promise<unknown> {
    return this.#pending.add(bodies?.byteLength ?? 0, (sequence) =>
      this.#worker.postMessage({ sequence, request }, bodies === undefined ? [] : [bodies.buffer]),
    );
  }

  /** Completes pending writes, then ends the thread. */
  async close(): Promise<void> {
    if (this.#pending.isOpen) {
      const closeReply = this.#call({ kind: "close" });
      this.#pending.close();
      // An error means that the thread has ended by itself; the callers of pending writes received the same error.
      await closeReply.catch(() => undefined);
    }
    // Terminate as a last resort only: terminating a thread in which SQLite runs may end the process.
    const timer = setTimeout(() => void this.#worker.terminate(), serverLimits.endMs);
    await this.#ended;
    clearTimeout(timer);
  }

  #onMessage(message: WriterMessage): void {
    if (message.kind === "diskSpace") {
      this.#readOnlyReason = message.readOnlyReason;
    }
    if (message.kind !== "done") {
      return;
    }
    message.buffers.forEach((buffer) => batchMemory.release(buffer));
    if (message.activity.length > 0) {
      for (const listener of this.#activityListeners) {
        listener(message.activity, "own");
      }
    }
    message.replies.forEach((reply) => this.#pending.settle(reply));
  }
}
