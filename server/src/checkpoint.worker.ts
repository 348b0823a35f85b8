import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { openCheckpointer } from "./storage/sqlite/open-database.ts";
import { writeBackRepeatedly, writeBack } from "./storage/sqlite/write-ahead-log.ts";
import { forwardWarnings } from "./storage/thread-warnings.ts";

// A thread that runs a checkpoint of the write-ahead log on its own connection, each time the writer thread requests
// one.

if (parentPort !== null) {
  forwardWarnings("checkpoint");
  start(parentPort, String(workerData));
}

function start(port: MessagePort, path: string): void {
  const db = openCheckpointer(path);
  port.on("message", (request: "checkpoint" | "close") => {
    if (request === "close") {
      db.close();
      port.close();
      return;
    }
    port.postMessage(writeBackRepeatedly(() => writeBack(db)));
  });
}
