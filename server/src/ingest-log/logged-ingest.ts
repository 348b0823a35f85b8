import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { batchMemory } from "../runs/batch-memory.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import { WorkThreads } from "../storage/work-threads.ts";
import { joinBatches } from "./batch-parts.ts";
import { encodeInTurns } from "./encode-task.ts";
import type { EncodedBatch, EncodeTask } from "./encode-task.ts";
import type { AppliedStore } from "./ingest-writer.ts";
import { createFullError } from "./log-connection.ts";
import type { LogConnection } from "./log-connection.ts";
import { logLimits } from "./log-limits.ts";
import type { ObservedLog } from "./log-state.ts";
import { decodeMessage, encodeReference } from "./message-format.ts";
import { RecentMessages } from "./recent-messages.ts";
import type { RecentMessageLimits } from "./recent-messages.ts";

/** How long {@link LoggedIngest} waits, and what it keeps. */
export interface LoggedIngestOptions {
  /**
   * What is known about the log. Without it, messages are kept until they take too much memory, and only NATS refuses
   * runs when the log is full.
   */
  readonly observed?: ObservedLog;
  /** Milliseconds after which a message is stored in the database if the log has not acknowledged it. */
  readonly lateMs?: number;
  /** How many recent messages are kept, and for how long. */
  readonly recent?: RecentMessageLimits;
}

/**
 * Appends the runs of requests to the log. A batch counts as received when the log has stored it on several machines; a
 * writer stores it in the database afterwards. When the log has stored the batch, it is not known yet which operations
 * are duplicates and which ones the database will refuse. So all valid operations count as accepted.
 *
 * While the log elects a leader, or can't be reached, it acknowledges nothing for seconds. If a database is given, what
 * the log has not acknowledged in time is stored there at once, and counts as received then. A writer that finds the
 * same message in the log later recognizes its runs. What the log acknowledged shortly before it was disturbed is
 * stored again; see {@link RecentMessages}.
 */
export class LoggedIngest {
  readonly #log: LogConnection;
  readonly #database: AppliedStore | undefined;
  readonly #observed: ObservedLog | undefined;
  readonly #lateMs: number;
  /** Threads that encode large batches as messages; they start on first use. */
  readonly #work = new WorkThreads();
  readonly #recent: RecentMessages;
  #pendingBytes = 0;
  /** Bytes that this server has appended since the state of the log was read, and the number of that reading. */
  #appendedBytes = 0;
  #seenReading = 0;
  #appended = 0;
  #storedDirectly = 0;
  /** Whether the last message was stored in the database, so that this is reported once. */
  #isLogLate = false;

  /** @param database - takes what the log does not acknowledge within `lateMs` */
  constructor(
    log: LogConnection,
    database?: AppliedStore,
    { observed, lateMs = logLimits.lateMs, recent }: LoggedIngestOptions = {},
  ) {
    this.#log = log;
    this.#database = database;
    this.#observed = observed;
    this.#lateMs = lateMs;
    this.#recent = new RecentMessages(
      {
        get disturbances() {
          return log.disturbances;
        },
        get oldestPosition() {
          return observed?.oldestPosition;
        },
      },
      (tenantId, message) => this.#storeAgain(tenantId, message),
      recent,
    );
  }

  /** Messages that were appended to the log. */
  get appended(): number {
    return this.#appended;
  }

  /** Messages that were stored in the database, because the log was late. */
  get storedDirectly(): number {
    return this.#storedDirectly;
  }

  /** Messages that were stored once more, because the log may have lost them. */
  get storedAgain(): number {
    return this.#recent.storedAgain;
  }

  /** Whether runs can be received while the log can't be reached. */
  get canStoreDirectly(): boolean {
    return this.#database !== undefined;
  }

  /**
   * Appends a batch to the log. Resolves when the batch would survive the loss of a machine, or when the database has
   * stored it.
   *
   * @throws RequestError 429: the log is full, or too much is being appended. 503: the log can't be reached.
   */
  async ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    const bytes = batch.bodies.byteLength;
    if (this.#pendingBytes + bytes > serverLimits.pendingBytes) {
      throw new RequestError(429, "data arrives faster than the log can store it; retry later", 1);
    }
    this.#assertSpace();
    this.#pendingBytes += bytes;
    const appends: Promise<void>[] = [];
    try {
      const { messages, operations } = await this.#encode(tenantId, batch);
      batchMemory.release(batch.bodies.buffer);
      // If one part fails, the client sends the whole batch again, and the writer recognizes the others as repeated.
      const results = await Promise.allSettled(
        messages.map((message) => this.#receive(tenantId, message, appends)),
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
      // What was stored in the database stays in memory until the attempt to append it ends.
      void this.#releaseAfter(appends, bytes);
    }
  }

  /** @throws RequestError 429: the log is full. */
  #assertSpace(): void {
    const waiting = this.#observed?.waiting;
    if (waiting === undefined) {
      return;
    }
    if (waiting.reading !== this.#seenReading) {
      this.#seenReading = waiting.reading;
      this.#appendedBytes = 0;
    }
    if (waiting.bytes + this.#appendedBytes >= waiting.maxBytes * logLimits.fullShare) {
      throw createFullError();
    }
  }

  async close(): Promise<void> {
    await this.#recent.close();
    await this.#work.close();
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

  async #releaseAfter(appends: readonly Promise<void>[], bytes: number): Promise<void> {
    await Promise.allSettled(appends);
    this.#pendingBytes -= bytes;
  }

  /** Appends a message. If the log is late, stores it in the database; if that fails, waits for the log. */
  async #receive(tenantId: string, message: Uint8Array, appends: Promise<void>[]): Promise<void> {
    const appending = new AbortController();
    const appended = this.#append(tenantId, message, appending.signal);
    appends.push(appended);
    const database = this.#database;
    if (database === undefined || !(await this.#isLate(appended))) {
      await appended;
      this.#reportLate(false);
      return;
    }
    try {
      // Store the message even if the log acknowledges it meanwhile: the former leader of an election may lose it.
      await storeDirectly(database, message);
      appending.abort();
      this.#storedDirectly += 1;
      this.#reportLate(true);
    } catch {
      // A writer can still store later what the database refuses now, so wait for the log.
      await appended;
    }
  }

  /**
   * Whether the log does not acknowledge a message in time, or can't be reached. A full log does not count as late,
   * because its error must slow the clients down.
   */
  async #isLate(appended: Promise<void>): Promise<boolean> {
    const timeout = new AbortController();
    try {
      return await Promise.race([
        appended.then(
          () => false,
          (cause: unknown) => !(cause instanceof RequestError && cause.status === 429),
        ),
        sleep(this.#log.isConnected ? this.#lateMs : 0, true, { signal: timeout.signal }),
      ]);
    } finally {
      timeout.abort();
    }
  }

  #reportLate(isLate: boolean): void {
    if (this.#isLogLate !== isLate) {
      this.#isLogLate = isLate;
      process.emitWarning(
        isLate
          ? "the ingest log acknowledges nothing in time; runs are stored directly in the database meanwhile"
          : "the ingest log acknowledges runs again",
      );
    }
  }

  async #append(tenantId: string, message: Uint8Array, signal?: AbortSignal): Promise<void> {
    const isLarge = message.byteLength > this.#log.messageBytes;
    const position = await this.#log.append(
      isLarge ? encodeReference(tenantId, await this.#log.putObject(message)) : message,
      signal,
    );
    this.#appended += 1;
    // A large message is stored as an object. Only a reference to it waits in the log.
    this.#appendedBytes += isLarge ? 0 : message.byteLength;
    this.#recent.add({ tenantId, message, position });
  }

  /** @throws Error neither the database nor the log accepts the message. */
  async #storeAgain(tenantId: string, message: Uint8Array): Promise<number> {
    try {
      if (this.#database !== undefined) {
        return await storeDirectly(this.#database, message);
      }
    } catch {
      // A writer can still store later what the database refuses now.
    }
    await this.#append(tenantId, message);
    return 0;
  }
}

/**
 * Stores a message in the database. Returns how many of its operations the database did not have yet.
 *
 * @throws Error the database does not accept all of the message.
 */
async function storeDirectly(database: AppliedStore, message: Uint8Array): Promise<number> {
  const decoded = decodeMessage(message);
  if (decoded.kind !== "batch") {
    throw new Error("only a batch can be stored");
  }
  const joined = joinBatches([decoded.batch]);
  const { accepted, rejected } = await database.ingest(decoded.tenantId, joined);
  if (rejected.length > 0) {
    throw new Error(`the database refuses ${rejected.length} parts`);
  }
  return accepted;
}
