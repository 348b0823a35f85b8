import { messageOf, RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { batchMemory } from "../runs/batch-memory.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import { WorkThreads } from "../storage/work-threads.ts";
import { encodeInTurns } from "./encode-task.ts";
import type { EncodedBatch, EncodeTask } from "./encode-task.ts";
import type { LogConnection } from "./log-connection.ts";
import { encodeReference } from "./message-format.ts";

/**
 * Takes the runs of requests into the log. A batch counts as received when the log has stored it on several machines; a
 * writer stores it in the database afterwards. So nothing is known yet of duplicates, and of what only the database
 * could refuse: all valid operations count as accepted.
 */
export class LoggedIngest {
  readonly #log: LogConnection;
  /** Threads that write large batches as messages; they start on first use. */
  readonly #work = new WorkThreads();
  #pendingBytes = 0;
  #appended = 0;

  constructor(log: LogConnection) {
    this.#log = log;
  }

  /** Messages that were appended to the log. */
  get appended(): number {
    return this.#appended;
  }

  /**
   * Appends a batch to the log. Resolves when it would survive the loss of a machine.
   *
   * @throws RequestError 429: the log is full, or too much is being appended. 503: the log can't be reached.
   */
  async ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    const bytes = batch.bodies.byteLength;
    if (this.#pendingBytes + bytes > serverLimits.pendingBytes) {
      throw new RequestError(429, "data arrives faster than the log can store it; retry later", 1);
    }
    this.#pendingBytes += bytes;
    try {
      const { messages, operations } = await this.#encode(tenantId, batch);
      batchMemory.release(batch.bodies.buffer);
      // If one part fails, the client sends the whole batch again, and the writer recognizes the others as repeated.
      const results = await Promise.allSettled(
        messages.map((message) => this.#append(tenantId, message)),
      );
      for (const result of results) {
        if (result.status === "rejected") {
          throw result.reason instanceof Error
            ? result.reason
            : new Error(messageOf(result.reason));
        }
      }
      return { accepted: operations, duplicates: 0, rejected: [] };
    } finally {
      this.#pendingBytes -= bytes;
    }
  }

  close(): Promise<void> {
    return this.#work.close();
  }

  async #encode(tenantId: string, batch: RunBatch | PackedBatch): Promise<EncodedBatch> {
    return "packed" in batch
      ? this.#work.run<EncodeTask>(tenantId, {
          kind: "logMessages",
          tenantId,
          chunks: [batch.packed, batch.bodies],
        })
      : encodeInTurns(tenantId, batch);
  }

  async #append(tenantId: string, message: Uint8Array): Promise<void> {
    const isLarge = message.byteLength > this.#log.messageBytes;
    await this.#log.append(
      isLarge ? encodeReference(tenantId, await this.#log.putObject(message)) : message,
    );
    this.#appended += 1;
  }
}
