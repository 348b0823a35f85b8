import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf } from "./errors.ts";
import { createReaders } from "./store/sqlite/nouns.ts";
import type { ReaderCall, ReaderMessage } from "./store/sqlite/reader-protocol.ts";
import { openReader } from "./store/sqlite/schema.ts";
import { invokeMethod, toFailure } from "./store/sqlite/thread-answer.ts";

// Answers what takes long, one question after the other, on a connection of its own.

if (parentPort !== null) {
  start(parentPort, String(workerData));
}

function start(port: MessagePort, path: string): void {
  const say = (message: ReaderMessage): void => port.postMessage(message);
  try {
    const db = openReader(path);
    const readers = createReaders(db);
    port.on("message", (call: ReaderCall | "close") => {
      if (call === "close") {
        db.close();
        port.close();
        return;
      }
      const { sequence } = call;
      try {
        say({ kind: "answer", sequence, value: invokeMethod(readers, call) });
      } catch (cause) {
        say(toFailure(sequence, cause));
      }
    });
    say({ kind: "ready" });
  } catch (cause) {
    say({ kind: "failedToStart", reason: messageOf(cause) });
  }
}
