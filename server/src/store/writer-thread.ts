import { Worker } from "node:worker_threads";
import { toDistFileUrl } from "../storage/dist-files.ts";
import { RequestError, ServerError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { threadOptions, waitForFirstMessage, waitForExit } from "../storage/threads.ts";
import type { ActivityListener } from "../runs/activity.ts";
import { batchMemory } from "../runs/batch-memory.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import { packPosts } from "../runs/sqlite/post-rows.ts";
import type { SchemaCheckResult } from "../datasets/examples/schemas/schema-checks.ts";
import { toError } from "../storage/thread-reply.ts";
import type { ResourceCall, ThreadReply } from "../storage/thread-reply.ts";
import type { WriteContext } from "./writer-origin.ts";
import type {
  WriterCall,
  WriterMessage,
  WriterRequest,
  WriterResources,
} from "./writer-protocol.ts";

/** Sent to a thread whose start takes too long: it ends itself once it has opened the database. */
const closeCall: WriterCall = { sequence: 0, request: { kind: "close" } };

interface PendingCall {
  readonly bytes: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (cause: Error) => void;
}

/** The main thread's handle of the writer thread. Counts the bytes of requests that are not committed yet. */
export class WriterThread {
  readonly #worker: Worker;
  readonly #pending = new Map<number, PendingCall>();
  readonly #ended: Promise<void>;
  /** Called after each commit with the counts of the runs that it stored. */
  readonly #activityListeners: ActivityListener[] = [];
  #readOnlyReason: string | undefined;
  #sequence = 0;
  #pendingBytes = 0;
  #isOpen = true;

  private constructor(worker: Worker, readOnlyReason: string | undefined) {
    this.#worker = worker;
    this.#readOnlyReason = readOnlyReason;
    worker.on("message", (message: WriterMessage) => this.#onMessage(message));
    // The `exit` event follows and rejects all pending calls.
    worker.on("error", () => undefined);
    this.#ended = new Promise((resolve) => {
      worker.once("exit", () => {
        this.#onExit();
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
    const firstMessage = (await waitForFirstMessage(worker, closeCall)) as WriterMessage;
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

  async #call(request: WriterRequest, bodies?: Uint8Array<ArrayBuffer>): Promise<unknown> {
    const bytes = bodies?.byteLength ?? 0;
    if (!this.#isOpen) {
      throw new RequestError(503, "the server is closing");
    }
    if (bytes > 0 && this.#pendingBytes + bytes > serverLimits.pendingBytes) {
      throw new RequestError(429, "data arrives faster than the disk can write it; retry later", 1);
    }
    const sequence = (this.#sequence += 1);
    this.#pendingBytes += bytes;
    return new Promise<unknown>((resolve, reject) => {
      this.#pending.set(sequence, { bytes, resolve, reject });
      this.#worker.postMessage({ sequence, request }, bodies === undefined ? [] : [bodies.buffer]);
    });
  }

  /** Completes pending writes, then ends the thread. */
  async close(): Promise<void> {
    if (this.#isOpen) {
      const closeReply = this.#call({ kind: "close" });
      this.#isOpen = false;
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
    message.replies.forEach((reply) => this.#settle(reply));
  }

  #settle(reply: ThreadReply): void {
    const pending = this.#pending.get(reply.sequence);
    this.#pending.delete(reply.sequence);
    this.#pendingBytes -= pending?.bytes ?? 0;
    if (reply.kind === "result") {
      pending?.resolve(reply.value);
    } else {
      pending?.reject(toError(reply));
    }
  }

  #onExit(): void {
    this.#isOpen = false;
    for (const { reject } of this.#pending.values()) {
      reject(new RequestError(503, "the writer thread ended unexpectedly; restart the server"));
    }
    this.#pending.clear();
  }
}
