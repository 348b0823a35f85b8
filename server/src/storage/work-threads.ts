import { Worker } from "node:worker_threads";
import { distFile } from "./dist-files.ts";
import { messageOf, RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { threadOptions, waitForFirstMessage } from "./threads.ts";

declare const resultOf: unique symbol;

/** Work for a thread, as a message to it. Each resource defines its own tasks; `Result` is what a task answers. */
export interface WorkTask<Result = unknown> {
  readonly kind: string;
  /** The body that the task is about; memory that is its own goes to the thread. */
  readonly pieces?: readonly Uint8Array[];
  /** For the compiler alone. */
  readonly [resultOf]?: Result;
}

/** What a task answers. */
export type ResultOf<Task> = Task extends WorkTask<infer Result> ? Result : never;

/** What a thread answers. */
export type WorkMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly result: unknown }
  | { readonly kind: "refused"; readonly status: number; readonly detail: string };

interface Waiting {
  readonly tenantId: string;
  readonly task: WorkTask;
  readonly memory: readonly ArrayBuffer[];
  readonly bytes: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (cause: Error) => void;
}

export interface WorkOptions {
  /** Longest time for one task. */
  readonly withinMs?: number;
  readonly threadsMax?: number;
}

/**
 * Threads for work whose duration depends on the sender. Each performs one task at a time, and only one of each tenant at a time, so
 * that a tenant waits for at most one task of another. A thread whose task takes too long is ended.
 *
 * A thread: started for a task -> busy -> idle -> busy ... -> ended, by a task that is late or by close.
 */
export class WorkThreads {
  readonly #withinMs: number;
  readonly #threadsMax: number;
  readonly #waiting: Waiting[] = [];
  readonly #busyTenants = new Set<string>();
  readonly #threads = new Set<Worker>();
  readonly #idle: Worker[] = [];
  #startingCount = 0;
  #waitingBytes = 0;
  #isOpen = true;

  constructor({
    withinMs = serverLimits.workMs,
    threadsMax = serverLimits.workThreads,
  }: WorkOptions = {}) {
    this.#withinMs = withinMs;
    this.#threadsMax = threadsMax;
  }

  /**
   * Resolves with what came of a task. Memory of the task that is its own goes to the thread.
   *
   * @throws RequestError what the task was refused for; 422: it took too long; 429: too many wait.
   */
  run<Task extends WorkTask>(tenantId: string, task: Task): Promise<ResultOf<Task>> {
    const { pieces = [] } = task;
    const bytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
    if (!this.#isOpen) {
      return Promise.reject(new RequestError(503, "the server is closing"));
    }
    if (
      this.#waiting.length >= serverLimits.workWaiting ||
      this.#waitingBytes + bytes > serverLimits.pendingBytes
    ) {
      return Promise.reject(
        new RequestError(429, "too much waits to be read or checked; send again later", 1),
      );
    }
    return new Promise((resolve, reject) => {
      const memory = pieces.flatMap(({ buffer, byteLength }) =>
        buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [],
      );
      this.#waitingBytes += bytes;
      this.#waiting.push({
        tenantId,
        task,
        memory: [...new Set(memory)],
        bytes,
        resolve: resolve as (result: unknown) => void,
        reject,
      });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    for (const { reject } of this.#waiting.splice(0)) {
      reject(new RequestError(503, "the server is closing"));
    }
    await Promise.all([...this.#threads].map((thread) => thread.terminate()));
  }

  /** Gives the first task whose tenant has none under way to a thread, as long as there are both. */
  #next(): void {
    for (;;) {
      const hasThread =
        this.#idle.length > 0 || this.#threads.size + this.#startingCount < this.#threadsMax;
      const at = this.#waiting.findIndex(({ tenantId }) => !this.#busyTenants.has(tenantId));
      const [next] = hasThread && at !== -1 ? this.#waiting.splice(at, 1) : [];
      if (next === undefined) {
        return;
      }
      this.#busyTenants.add(next.tenantId);
      void this.#perform(next, this.#idle.pop());
    }
  }

  /** Rejects nothing itself: what fails is the task's. */
  async #perform(waiting: Waiting, idle: Worker | undefined): Promise<void> {
    const { tenantId, bytes, resolve, reject } = waiting;
    try {
      const thread = idle ?? (await this.#start());
      const message = await this.#ask(thread, waiting);
      if (message.kind === "refused") {
        reject(new RequestError(message.status, message.detail));
      } else {
        resolve(message.kind === "done" ? message.result : undefined);
      }
    } catch (cause) {
      reject(cause instanceof RequestError ? cause : new RequestError(503, messageOf(cause), 1));
    } finally {
      this.#waitingBytes -= bytes;
      this.#busyTenants.delete(tenantId);
      this.#next();
    }
  }

  async #start(): Promise<Worker> {
    this.#startingCount += 1;
    const thread = new Worker(distFile("work.worker.js"), {
      ...threadOptions,
      name: "millrace-work",
      resourceLimits: { maxOldGenerationSizeMb: serverLimits.workHeapMebibytes },
    });
    try {
      // Without SQLite, so that it may be terminated whatever it does.
      await waitForFirstMessage(thread, undefined);
    } finally {
      this.#startingCount -= 1;
    }
    if (!this.#isOpen) {
      await thread.terminate();
      throw new RequestError(503, "the server is closing");
    }
    this.#threads.add(thread);
    // The end of a thread ends no server; what waited for it is answered where it asked.
    thread.on("error", () => undefined);
    thread.once("exit", () => {
      this.#threads.delete(thread);
      const at = this.#idle.indexOf(thread);
      if (at !== -1) {
        this.#idle.splice(at, 1);
      }
    });
    return thread;
  }

  async #ask(thread: Worker, { task, memory }: Waiting): Promise<WorkMessage> {
    let timer: NodeJS.Timeout | undefined;
    let onMessage: ((message: WorkMessage) => void) | undefined;
    let onExit: (() => void) | undefined;
    try {
      const message = await new Promise<WorkMessage>((resolve, reject) => {
        onMessage = resolve;
        onExit = () =>
          reject(new RequestError(413, "it needs more memory than it may take; send less"));
        thread.once("message", onMessage).once("exit", onExit);
        const withinMs = Math.min(
          this.#withinMs,
          task.kind === "schema" ? serverLimits.schemaTaskMs : this.#withinMs,
        );
        timer = setTimeout(() => {
          this.#threads.delete(thread);
          thread.off("exit", onExit ?? (() => undefined));
          void thread.terminate();
          reject(
            new RequestError(
              422,
              `${whatOf(task)} takes longer than ${withinMs} ms: send less, or give a simpler schema`,
            ),
          );
        }, withinMs);
        thread.postMessage(task, memory);
      });
      this.#idle.push(thread);
      return message;
    } finally {
      clearTimeout(timer);
      if (onMessage !== undefined && onExit !== undefined) {
        thread.off("message", onMessage).off("exit", onExit);
      }
    }
  }
}

const whatOf = ({ kind }: WorkTask): string =>
  kind === "schema"
    ? "to check against the dataset's schema: it"
    : "to read the body, which is large: it";
