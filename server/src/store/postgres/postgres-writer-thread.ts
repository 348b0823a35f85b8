import { Worker } from "node:worker_threads";
import { ServerError } from "../../model/errors.ts";
import type { Activity, ActivitySource } from "../../runs/activity.ts";
import { batchMemory } from "../../runs/batch-memory.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../../runs/run-record.ts";
import { toDistFileUrl } from "../../storage/dist-files.ts";
import type { PoolState } from "../../storage/pool-state.ts";
import type { ThreadReply } from "../../storage/thread-reply.ts";
import {
  endThread,
  threadOptions,
  waitForExit,
  waitForFirstMessage,
} from "../../storage/threads.ts";
import { PendingWrites } from "../pending-writes.ts";
import type { PostgresThreadData } from "./connect.ts";
import type { PostgresWrite, WriterListeners } from "./postgres-writer.ts";

export type PostgresWriterRequest =
  | {
      readonly kind: "ingest";
      readonly tenantId: string;
      readonly batch: RunBatch | PackedBatch;
    }
  | (PostgresWrite & { readonly kind: "write" });

/** A request, with the sequence number that its reply repeats. */
export interface PostgresWriterCall {
  readonly sequence: number;
  readonly request: PostgresWriterRequest;
}

export type PostgresWriterMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "failedToStart"; readonly reason: string }
  | {
      readonly kind: "activity";
      readonly activity: readonly Activity[];
      readonly source: ActivitySource;
    }
  | { readonly kind: "wake" }
  | {
      readonly kind: "state";
      readonly isLeader: boolean;
      readonly pools: Readonly<Record<string, PoolState>>;
    }
  | {
      readonly kind: "done";
      readonly reply: ThreadReply;
      /** The buffers that contained the payloads of the request; the main thread can use them again. */
      readonly buffers: readonly ArrayBuffer[];
    };

/** What the thread reports besides the results of calls. */
export interface WriterThreadListeners extends WriterListeners {
  /** Called from time to time with whether this server is the leader; see `ServerNotices`. */
  readonly onState: (isLeader: boolean) => void;
}

/** The main thread's handle for the writer thread. Counts the bytes of batches that are not committed yet. */
export class PostgresWriterThread {
  readonly #worker: Worker;
  readonly #listeners: WriterThreadListeners;
  readonly #pending = new PendingWrites(
    "data arrives faster than the database can write it; retry later",
  );
  #isLeader = false;
  #pools: Readonly<Record<string, PoolState>> = {};

  private constructor(worker: Worker, listeners: WriterThreadListeners) {
    this.#worker = worker;
    this.#listeners = listeners;
    worker.on("message", (message: PostgresWriterMessage) => this.#onMessage(message));
    // The `exit` event follows and rejects all pending calls.
    worker.on("error", () => undefined);
    worker.once("exit", () => this.#onExit());
  }

  /** @throws ServerError the thread did not start. */
  static async start(
    data: PostgresThreadData,
    listeners: WriterThreadListeners,
  ): Promise<PostgresWriterThread> {
    const worker = new Worker(toDistFileUrl("postgres-writer.worker.js"), {
      ...threadOptions,
      name: "millrace-writer",
      workerData: data,
    });
    const thread = new PostgresWriterThread(worker, listeners);
    const message = (await waitForFirstMessage(worker, "close")) as PostgresWriterMessage;
    if (message.kind === "failedToStart") {
      await waitForExit(worker);
      throw new ServerError("STORE", `Failed to start the writer thread: ${message.reason}`);
    }
    return thread;
  }

  /** Whether this server is the leader; see `ServerNotices`. */
  get isLeader(): boolean {
    return this.#isLeader;
  }

  get pools(): Readonly<Record<string, PoolState>> {
    return this.#pools;
  }

  /** Stores a batch; resolves when it is committed. The batch's payload buffer is transferred to the thread. */
  async ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    const result = await this.#call({ kind: "ingest", tenantId, batch }, batch.bodies);
    return result as IngestResult;
  }

  /** Calls a method of a resource; resolves when the change is committed. */
  write(write: PostgresWrite): Promise<unknown> {
    return this.#call({ ...write, kind: "write" });
  }

  /** Completes pending writes, then ends the thread. */
  async close(): Promise<void> {
    this.#pending.close();
    await endThread(this.#worker, "close");
  }

  #call(request: PostgresWriterRequest, bodies?: Uint8Array<ArrayBuffer>): Promise<unknown> {
    return this.#pending.add(bodies?.byteLength ?? 0, (sequence) => {
      const call: PostgresWriterCall = { sequence, request };
      this.#worker.postMessage(call, bodies === undefined ? [] : [bodies.buffer]);
    });
  }

  #onMessage(message: PostgresWriterMessage): void {
    switch (message.kind) {
      case "activity":
        this.#listeners.onActivity(message.activity, message.source);
        break;
      case "wake":
        this.#listeners.onWake();
        break;
      case "state":
        this.#isLeader = message.isLeader;
        this.#pools = message.pools;
        this.#listeners.onState(message.isLeader);
        break;
      case "done":
        message.buffers.forEach((buffer) => batchMemory.release(buffer));
        this.#pending.settle(message.reply);
        break;
      case "ready":
      case "failedToStart":
        break;
    }
  }

  #onExit(): void {
    this.#isLeader = false;
    this.#pending.rejectAll();
  }
}
