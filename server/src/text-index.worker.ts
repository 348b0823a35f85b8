import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { dirname } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf } from "./model/errors.ts";
import { readDiskUse, reserveBytesOf } from "./storage/sqlite/disk-reserve.ts";
import type { IndexerMessage, IndexerRequest } from "./runs/sqlite/text-index/text-index-thread.ts";
import { TextIndexer } from "./runs/sqlite/text-index/text-indexer.ts";

// Fills the text index behind everybody's back: with the processor time that is left over, and after each step
// a rest several times as long.

/** From the end of one step to the next, as a multiple of what the step took; and where nothing was to be done. */
const restFactor = 3;
const idleMs = 1_000;

if (parentPort !== null) {
  lowerPriority();
  start(parentPort, String(workerData));
}

/** Of this thread alone, which Linux takes for a process of its own there; elsewhere the rests must do. */
function lowerPriority(): void {
  try {
    const [, thread] = /task\/(\d+)$/.exec(readlinkSync("/proc/thread-self")) ?? [];
    if (thread !== undefined) {
      setPriority(Number(thread), 19);
    }
  } catch {
    // No such file, or no right to it: the rests must do.
  }
}

function start(port: MessagePort, path: string): void {
  const say = (message: IndexerMessage): void => port.postMessage(message);
  let isClosing = false;
  let onWritten: ((failure: string | undefined) => void) | undefined;
  const write = (request: IndexerRequest): Promise<void> =>
    new Promise((resolve, reject) => {
      onWritten = (failure) => (failure === undefined ? resolve() : reject(new Error(failure)));
      say({ kind: "write", request });
    });
  const indexer = new TextIndexer(path, {
    claim: (row) => write({ method: "claim", value: row }),
    settle: (seq) => write({ method: "settle", value: seq }),
  });
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearTimeout(timer);
    indexer.close();
    port.close();
  };
  const folder = dirname(path);
  const reserveBytes = reserveBytesOf(readDiskUse(folder));
  let isAtWork = false;
  const turn = async (): Promise<void> => {
    isAtWork = true;
    const began = performance.now();
    let restMs = idleMs;
    try {
      const { freeBytes } = readDiskUse(folder);
      // On a disk that is nearly full what is new waits: what room there is is for the database. What was
      // deleted leaves the index as long as there is any.
      if (freeBytes < reserveBytes / 16) {
        restMs = idleMs;
      } else if (await indexer.step({ takesNew: freeBytes >= reserveBytes })) {
        restMs = (performance.now() - began) * restFactor;
      } else {
        say({ kind: "idle" });
      }
      if (freeBytes < reserveBytes) {
        indexer.shortenLog();
      }
    } catch (cause) {
      // A full disk, say: what is not in the index is read, and the next turn tries again.
      say({ kind: "failed", reason: messageOf(cause) });
    }
    isAtWork = false;
    if (isClosing) {
      end();
    } else {
      timer = setTimeout(() => void turn(), restMs);
    }
  };
  port.on("message", (message: { readonly failure?: string } | "close") => {
    if (message !== "close") {
      onWritten?.(message.failure);
      return;
    }
    isClosing = true;
    onWritten?.("the server is closing");
    if (!isAtWork) {
      end();
    }
  });
  void turn();
}
