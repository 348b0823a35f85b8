import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf } from "../model/errors.ts";
import { closeBackgroundThread } from "./background-thread.ts";
import type { BackgroundMessage, BackgroundReply } from "./background-thread.ts";
import { forwardWarnings } from "./thread-warnings.ts";
import { lowerPriority } from "./low-priority.ts";
import { readThreadCpuMs } from "./thread-cpu.ts";

/**
 * Length of the pause after a step, as a multiple of the step's duration. `crowded` applies while other threads need
 * the processors, `alone` while this thread has a processor for itself and can keep up with work that arrives fast.
 */
const pauseFactors = { crowded: 3, alone: 0.2 } as const;
/** The shorter pause applies if the thread used the processor for at least this share of the step's duration. */
const aloneShare = 0.75;
/** Milliseconds of the pause after a step that had nothing to do, or failed. */
const idleMs = 1_000;

/** What the work of a background thread can use. */
export interface BackgroundContext<Write> {
  /** Path of the database. */
  readonly path: string;
  /** Makes a write on the writer thread. Rejects if it failed, or if the server is closing. */
  readonly write: (write: Write) => Promise<void>;
  readonly isClosing: () => boolean;
}

export interface BackgroundWork {
  /**
   * Does a step, which should take some tens of milliseconds. Resolves to whether there was something to do. May throw,
   * for example when the disk is full: the next step tries again.
   */
  readonly runStep: () => Promise<boolean>;
  readonly close: () => void;
}

/**
 * Repeats the steps of background work at low priority until the server closes. After each step it pauses several times
 * as long as the step took, or for a fraction of it if no other thread needs the processor. Call it from the file of a
 * thread that `BackgroundThread` starts.
 */
export function runInBackground<Write>(
  createWork: (context: BackgroundContext<Write>) => BackgroundWork,
): void {
  // The file may also be loaded outside a thread, for example by a check of the bundle.
  if (parentPort !== null) {
    forwardWarnings("background");
    lowerPriority();
    new StepRunner<Write>(parentPort, createWork).start();
  }
}

class StepRunner<Write> {
  readonly #port: MessagePort;
  readonly #work: BackgroundWork;
  #isClosing = false;
  #isRunning = false;
  #timer: NodeJS.Timeout | undefined;
  #onReply: ((reply: BackgroundReply) => void) | undefined;

  constructor(
    port: MessagePort,
    createWork: (context: BackgroundContext<Write>) => BackgroundWork,
  ) {
    this.#port = port;
    this.#work = createWork({
      path: String(workerData),
      write: (write) => this.#write(write),
      isClosing: () => this.#isClosing,
    });
  }

  start(): void {
    this.#port.on("message", (message: BackgroundReply | typeof closeBackgroundThread) => {
      if (message === closeBackgroundThread) {
        this.#requestClose();
      } else {
        this.#onReply?.(message);
      }
    });
    void this.#runStep();
  }

  #write(write: Write): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onReply = ({ failure }) =>
        failure === undefined ? resolve() : reject(new Error(failure));
      this.#post({ kind: "write", write });
    });
  }

  #post(message: BackgroundMessage<Write>): void {
    this.#port.postMessage(message);
  }

  async #runStep(): Promise<void> {
    this.#isRunning = true;
    const startMs = performance.now();
    const startCpuMs = readThreadCpuMs();
    let pauseMs = idleMs;
    try {
      if (await this.#work.runStep()) {
        const stepMs = performance.now() - startMs;
        const isAlone = readThreadCpuMs() - startCpuMs >= stepMs * aloneShare;
        pauseMs = stepMs * (isAlone ? pauseFactors.alone : pauseFactors.crowded);
      }
    } catch (cause) {
      this.#post({ kind: "failed", reason: messageOf(cause) });
    }
    this.#isRunning = false;
    if (this.#isClosing) {
      this.#close();
    } else {
      this.#timer = setTimeout(() => void this.#runStep(), pauseMs);
    }
  }

  #requestClose(): void {
    this.#isClosing = true;
    this.#onReply?.({ failure: "the server is closing" });
    if (!this.#isRunning) {
      this.#close();
    }
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#work.close();
    this.#port.close();
  }
}
