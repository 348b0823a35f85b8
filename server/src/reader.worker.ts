import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf } from "./model/errors.ts";
import { onDamage } from "./storage/sqlite/checksum.ts";
import { createReaders } from "./store/repositories.ts";
import type { ReaderCall, ReaderData, ReaderMessage } from "./store/reader-protocol.ts";
import { openReader } from "./storage/sqlite/open-database.ts";
import type { Connection } from "./storage/sqlite/connection.ts";
import { attachTextIndex } from "./runs/sqlite/text-index/text-index.ts";
import { TaskQueue } from "./storage/task-queue.ts";
import { invokeMethod, toFailure } from "./storage/thread-reply.ts";
import { forwardWarnings } from "./storage/thread-warnings.ts";

// Runs queries one after the other, on a read-only connection of this thread.

if (parentPort !== null) {
  forwardWarnings("reader");
  start(parentPort, workerData as ReaderData);
}

function start(port: MessagePort, { path, cancelFlag }: ReaderData): void {
  const post = (message: ReaderMessage): void =>
    port.postMessage(message, findTransferable(message));
  let db: Connection | undefined;
  try {
    db = openReader(path);
    attachTextIndex(db, path);
    const readers = createReaders(db);
    const connection = db;
    onDamage((detail) => post({ kind: "damaged", detail }));
    const runQuery = async (call: ReaderCall): Promise<void> => {
      const { sequence, withinMs } = call;
      try {
        const value = await connection.runLimited({ durationMs: withinMs, cancelFlag }, () =>
          invokeMethod(readers, call),
        );
        post({ kind: "result", sequence, value });
      } catch (cause) {
        post(toFailure(sequence, cause));
      }
    };
    const close = (): void => {
      connection.close();
      port.close();
    };
    // A connection has one deadline at a time, so the queries of a thread must not overlap.
    const queryQueue = new TaskQueue();
    port.on("message", (call: ReaderCall | "close") =>
      queryQueue.add(() => (call === "close" ? close() : runQuery(call))),
    );
    post({ kind: "ready" });
  } catch (cause) {
    db?.close();
    post({ kind: "failedToStart", reason: messageOf(cause) });
  }
}

/**
 * Buffers of at least this size are transferred. Smaller ones may be part of Node's shared pool, which can't be
 * transferred.
 */
const minTransferBytes = 65_536;

/**
 * Finds the buffers of payloads and files in a result, which are transferred to the caller's thread without a copy.
 */
function findTransferable(message: ReaderMessage): ArrayBuffer[] {
  if (message.kind !== "result") {
    return [];
  }
  const foundBuffers = new Set<ArrayBuffer>();
  const collect = (value: unknown, depth: number): void => {
    if (value instanceof Uint8Array) {
      const { buffer } = value;
      // Node marks the pool that small buffers share. It has 8 KiB in Node 20, which has no function to ask for the
      // mark, and more in later versions.
      if (
        buffer instanceof ArrayBuffer &&
        buffer.byteLength >= minTransferBytes &&
        !isUntransferable(buffer)
      ) {
        foundBuffers.add(buffer);
      }
    } else if (depth > 0 && typeof value === "object" && value !== null) {
      const members = Array.isArray(value) ? (value as readonly unknown[]) : Object.values(value);
      for (const member of members) {
        collect(member, depth - 1);
      }
    }
  };
  collect(message.value, maxDepth);
  return [...foundBuffers];
}

const isMarked: unknown = Reflect.get(
  process.getBuiltinModule("node:worker_threads"),
  "isMarkedAsUntransferable",
);
const isUntransferable = (buffer: ArrayBuffer): boolean =>
  typeof isMarked === "function" && Reflect.apply(isMarked, undefined, [buffer]) === true;

/**
 * Number of levels that are searched for buffers: a page, its runs, their payloads, and the bytes of a payload. No
 * result contains bytes at a deeper level.
 */
const maxDepth = 4;
