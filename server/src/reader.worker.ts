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
import { findTransferable } from "./storage/transferable.ts";

// Runs queries one after the other, on a read-only connection of this thread.

if (parentPort !== null) {
  forwardWarnings("reader");
  start(parentPort, workerData as ReaderData);
}

function start(port: MessagePort, { path, cancelFlag }: ReaderData): void {
  const post = (message: ReaderMessage): void =>
    port.postMessage(message, message.kind === "result" ? findTransferable(message.value) : []);
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
