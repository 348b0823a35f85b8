import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf } from "./model/errors.ts";
import { onDamage } from "./storage/sqlite/checksum.ts";
import { createReaders } from "./store/repositories.ts";
import type { ReaderCall, ReaderData, ReaderMessage } from "./store/reader-protocol.ts";
import { openReader } from "./storage/sqlite/open-database.ts";
import type { Connection } from "./storage/sqlite/connection.ts";
import { attachTextIndex } from "./runs/sqlite/text-index/text-index.ts";
import { invokeMethod, toFailure } from "./storage/thread-reply.ts";

// Answers queries, one after the other, on a connection of its own that can't write.

if (parentPort !== null) {
  start(parentPort, workerData as ReaderData);
}

function start(port: MessagePort, { path, ended }: ReaderData): void {
  const say = (message: ReaderMessage): void => port.postMessage(message, memoryOf(message));
  let db: Connection | undefined;
  try {
    db = openReader(path);
    attachTextIndex(db, path);
    const readers = createReaders(db);
    const opened = db;
    onDamage((detail) => say({ kind: "damaged", detail }));
    port.on("message", (call: ReaderCall | "close") => {
      if (call === "close") {
        opened.close();
        port.close();
        return;
      }
      const { sequence, withinMs } = call;
      try {
        const value = opened.limited({ durationMs: withinMs, ended }, () =>
          invokeMethod(readers, call),
        );
        say({ kind: "answer", sequence, value });
      } catch (cause) {
        say(toFailure(sequence, cause));
      }
    });
    say({ kind: "ready" });
  } catch (cause) {
    db?.close();
    say({ kind: "failedToStart", reason: messageOf(cause) });
  }
}

/** Memory of this size is an answer's own: Node's pool for small buffers is shorter, and can't be given away. */
const ownBytes = 65_536;

/** Payloads and files in an answer, which go to the caller's thread without a copy. */
function memoryOf(message: ReaderMessage): ArrayBuffer[] {
  if (message.kind !== "answer") {
    return [];
  }
  const found = new Set<ArrayBuffer>();
  const look = (value: unknown, depth: number): void => {
    if (value instanceof Uint8Array) {
      if (value.buffer instanceof ArrayBuffer && value.buffer.byteLength >= ownBytes) {
        found.add(value.buffer);
      }
    } else if (depth > 0 && typeof value === "object" && value !== null) {
      const members = Array.isArray(value) ? (value as readonly unknown[]) : Object.values(value);
      for (const member of members) {
        look(member, depth - 1);
      }
    }
  };
  look(message.value, bytesDepth);
  return [...found];
}

/** A page, its runs, their payloads, the bytes of each: no answer has any further down. */
const bytesDepth = 4;
