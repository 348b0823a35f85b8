import { dirname } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf } from "./model/errors.ts";
import { lowerPriority } from "./storage/low-priority.ts";
import { readDiskUse, computeReserveBytes } from "./storage/sqlite/disk-reserve.ts";
import type { IndexerMessage, IndexerRequest } from "./runs/sqlite/text-index/text-index-thread.ts";
import { TextIndexer } from "./runs/sqlite/text-index/text-indexer.ts";

// Fills the text index in the background, at low priority. After each step it pauses several times as long as the
// step took.

/** Length of the pause after a step, as a multiple of the step's duration. */
const pauseFactor = 3;
/** Milliseconds of the pause after a step that had nothing to do. */
const idleMs = 1_000;

if (parentPort !== null) {
  lowerPriority();
  start(parentPort, String(workerData));
}

function start(port: MessagePort, path: string): void {
  const post = (message: IndexerMessage): void => port.postMessage(message);
  let isClosing = false;
  let onWriteReply: ((failure: string | undefined) => void) | undefined;
  const write = (request: IndexerRequest): Promise<void> =>
    new Promise((resolve, reject) => {
      onWriteReply = (failure) => (failure === undefined ? resolve() : reject(new Error(failure)));
      post({ kind: "write", request });
    });
  const indexer = new TextIndexer(path, {
    claimRuns: (lastRowNumber) => write({ method: "claimRuns", argument: lastRowNumber }),
    deleteChanges: (lastSequenceNumber) =>
      write({ method: "deleteChanges", argument: lastSequenceNumber }),
  });
  let timer: NodeJS.Timeout | undefined;
  const closeThread = (): void => {
    clearTimeout(timer);
    indexer.close();
    port.close();
  };
  const folder = dirname(path);
  const reserveBytes = computeReserveBytes(readDiskUse(folder));
  let isRunning = false;
  const runStep = async (): Promise<void> => {
    isRunning = true;
    const startMs = performance.now();
    let pauseMs = idleMs;
    try {
      const { freeBytes } = readDiskUse(folder);
      // On a nearly full disk new content is not indexed, because the database needs the space. Deleted content is
      // still removed from the index until almost no space is left.
      if (freeBytes < reserveBytes / 16) {
        pauseMs = idleMs;
      } else if (await indexer.runStep({ shouldIndexNewRuns: freeBytes >= reserveBytes })) {
        pauseMs = (performance.now() - startMs) * pauseFactor;
      } else {
        post({ kind: "idle" });
      }
      if (freeBytes < reserveBytes) {
        indexer.shortenLog();
      }
    } catch (cause) {
      // The disk may be full. Content that is not indexed is searched without the index, and the next step tries again.
      post({ kind: "failed", reason: messageOf(cause) });
    }
    isRunning = false;
    if (isClosing) {
      closeThread();
    } else {
      timer = setTimeout(() => void runStep(), pauseMs);
    }
  };
  port.on("message", (message: { readonly failure?: string } | "close") => {
    if (message !== "close") {
      onWriteReply?.(message.failure);
      return;
    }
    isClosing = true;
    onWriteReply?.("the server is closing");
    if (!isRunning) {
      closeThread();
    }
  });
  void runStep();
}
