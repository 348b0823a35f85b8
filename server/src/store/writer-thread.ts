import { Worker } from "node:worker_threads";
import { distFile } from "../storage/dist-files.ts";
import { RequestError, ServerError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { threadOptions, waitForFirstMessage, whenEnded } from "../storage/threads.ts";
import type { Activity } from "../runs/activity.ts";
import { batchMemory } from "../runs/batch-memory.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import { packPosts } from "../runs/sqlite/post-rows.ts";
import type { SchemaProof } from "../datasets/examples/sqlite/schema-proofs.ts";
import { toError } from "../storage/thread-reply.ts";
import type { ThreadAnswer } from "../storage/thread-reply.ts";
import type { WriterCall, WriterMessage, WriterRequest } from "./writer-protocol.ts";

/** For a thread that is silent for too long: it ends itself once it has opened the database. */
const closeCall: WriterCall = { sequence: 0, request: { kind: "close" } };

type Write = Extract<WriterRequest, { kind: "write" }>;

interface Waiting {
  readonly bytes: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (cause: Error) => void;
}

/** The near end of the writer's thread: calls it, and counts what it has not yet committed. */
export class WriterThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  /** Called with what each commit stored. */
  onActivity: (activity: readonly Activity[]) => void = () => undefined;
  #readOnlyReason: string | undefined;
  #sequence = 0;
  #pendingBytes = 0;
  #isOpen = true;

  private constructor(worker: Worker, readOnlyReason: string | undefined) {
    this.#worker = worker;
    this.#readOnlyReason = readOnlyReason;
    worker.on("message", (message: WriterMessage) => this.#onMessage(message));
    // An error is followed by the exit, where all that waits is answered.
    worker.on("error", () => undefined);
    this.#ended = new Promise((resolve) => {
      worker.once("exit", () => {
        this.#onExit();
        resolve();
      });
    });
  }

  /** @throws ServerError the database can't be opened. */
  static async start(path: string): Promise<WriterThread> {
    const worker = new Worker(distFile("writer.worker.js"), {
      ...threadOptions,
      name: "millrace-writer",
      workerData: path,
    });
    const first = (await waitForFirstMessage(worker, closeCall)) as WriterMessage;
    if (first.kind === "ready") {
      return new WriterThread(worker, first.readOnlyReason);
    }
    // It has closed the database, and ends by itself.
    await whenEnded(worker);
    const reason = first.kind === "failedToStart" ? first.reason : first.kind;
    throw new ServerError("DATA_DIR", `Failed to open ${path}: ${reason}`);
  }

  /** Why only deletions are taken; `undefined` while all is. */
  get readOnlyReason(): string | undefined {
    return this.#readOnlyReason;
  }

  /** Stores a batch; resolves when it is committed. The batch's memory goes to the thread. */
  async ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    // What was walked over has rows already.
    const packed = "packed" in batch || batch.posts !== undefined ? batch : packPosts(batch);
    const answer = await this.#call({ kind: "ingest", tenantId, batch: packed }, batch.bodies);
    return answer as IngestResult;
  }

  /** Performs a method of a resource; resolves when it is committed. */
  write(
    { resource, method, args }: Pick<Write, "resource" | "method" | "args">,
    proofs: readonly SchemaProof[] = [],
  ): Promise<unknown> {
    return this.#call({ kind: "write", resource, method, args, proofs });
  }

  async #call(request: WriterRequest, bodies?: Uint8Array<ArrayBuffer>): Promise<unknown> {
    const bytes = bodies?.byteLength ?? 0;
    if (!this.#isOpen) {
      throw new RequestError(503, "the server is closing");
    }
    if (bytes > 0 && this.#pendingBytes + bytes > serverLimits.pendingBytes) {
      throw new RequestError(429, "more arrives than the disk takes; send again later", 1);
    }
    const sequence = (this.#sequence += 1);
    this.#pendingBytes += bytes;
    return new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(sequence, { bytes, resolve, reject });
      this.#worker.postMessage({ sequence, request }, bodies === undefined ? [] : [bodies.buffer]);
    });
  }

  /** Writes what is under way, then ends the thread. */
  async close(): Promise<void> {
    if (this.#isOpen) {
      const closing = this.#call({ kind: "close" });
      this.#isOpen = false;
      await closing.catch(() => undefined); // The thread has ended already; its callers were told.
    }
    // The last resort: to terminate a thread in which SQLite works may end the process.
    const timer = setTimeout(() => void this.#worker.terminate(), serverLimits.endMs);
    await this.#ended;
    clearTimeout(timer);
  }

  #onMessage(message: WriterMessage): void {
    if (message.kind === "room") {
      this.#readOnlyReason = message.readOnlyReason;
    }
    if (message.kind !== "done") {
      return;
    }
    message.memory.forEach((memory) => batchMemory.give(memory));
    if (message.activity.length > 0) {
      this.onActivity(message.activity);
    }
    message.answers.forEach((answer) => this.#onAnswer(answer));
  }

  #onAnswer(answer: ThreadAnswer): void {
    const waiting = this.#waiting.get(answer.sequence);
    this.#waiting.delete(answer.sequence);
    this.#pendingBytes -= waiting?.bytes ?? 0;
    if (answer.kind === "answer") {
      waiting?.resolve(answer.value);
    } else {
      waiting?.reject(toError(answer));
    }
  }

  #onExit(): void {
    this.#isOpen = false;
    for (const { reject } of this.#waiting.values()) {
      reject(new RequestError(503, "the writer's thread ended; start the server again"));
    }
    this.#waiting.clear();
  }
}
