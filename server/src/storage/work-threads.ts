import { Worker } from "node:worker_threads";
import { toDistFileUrl } from "./dist-files.ts";
import { messageOf, RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { TenantQueues } from "./tenant-queues.ts";
import { threadOptions, waitForFirstMessage } from "./threads.ts";

declare const resultTypeMarker: unique symbol;

/**
 * A task for a worker thread, sent to it as a message. Each resource defines its own tasks; `Result` is the type of a
 * task's result.
 */
export interface WorkTask<Result = unknown> {
  readonly kind: string;
  /** The request body, in chunks. Memory that belongs to one chunk alone is transferred to the thread. */
  readonly chunks?: readonly Uint8Array[];
  /** Never set; it lets TypeScript infer the type of the result. */
  readonly [resultTypeMarker]?: Result;
}

/** The result type of a task. */
export type ResultOf<Task> = Task extends WorkTask<infer Result> ? Result : never;

/** A message from a thread of the pool to the main thread. */
export type WorkMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly result: unknown }
  | { readonly kind: "refused"; readonly status: number; readonly detail: string };

interface QueuedTask {
  readonly tenantId: string;
  readonly task: WorkTask;
  readonly transferList: readonly ArrayBuffer[];
  readonly bytes: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (cause: Error) => void;
}

/** Options of the worker threads that perform tasks. */
export interface WorkOptions {
  /** Milliseconds that one task may take. */
  readonly timeoutMs?: number;
  readonly threadsMax?: number;
}

/**
 * Worker threads for tasks whose duration depends on the client, such as parsing a body. Each thread performs one
 * task at a time. Tenants take turns, and each has at most one running task, so that no tenant occupies all threads. A
 * thread whose task takes too long is terminated.
 *
 * States of a thread: started for a task -> busy -> idle -> busy ... -> ended, by a task that takes too long or by
 * `close`.
 */
export class WorkThreads {
  readonly #timeoutMs: number;
  readonly #threadsMax: number;
  readonly #queues = new TenantQueues<QueuedTask>();
  readonly #busyTenants = new Set<string>();
  readonly #threads = new Set<Worker>();
  readonly #idle: Worker[] = [];
  #startingCount = 0;
  #queuedBytes = 0;
  #isOpen = true;

  constructor({
    timeoutMs = serverLimits.workMs,
    threadsMax = serverLimits.workThreads,
  }: WorkOptions = {}) {
    this.#timeoutMs = timeoutMs;
    this.#threadsMax = threadsMax;
  }

  /**
   * Resolves with the result of a task. Memory that belongs to one chunk alone is transferred to the thread.
   *
   * @throws RequestError the error of the task. 413: it needs too much memory. 422: it took too long. 429: too many
   * tasks are waiting. 503: the server is closing.
   */
  run<Task extends WorkTask>(tenantId: string, task: Task): Promise<ResultOf<Task>> {
    const { chunks = [] } = task;
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
    if (!this.#isOpen) {
      return Promise.reject(new RequestError(503, "the server is closing"));
    }
    if (
      this.#queues.size >= serverLimits.workWaiting ||
      this.#queuedBytes + bytes > serverLimits.pendingBytes
    ) {
      return Promise.reject(
        new RequestError(
          429,
          "too many requests are waiting to be parsed or validated; send this one again later",
          1,
        ),
      );
    }
    return new Promise((resolve, reject) => {
      const transferList = chunks.flatMap(({ buffer, byteLength }) =>
        buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [],
      );
      this.#queuedBytes += bytes;
      this.#queues.add(tenantId, {
        tenantId,
        task,
        transferList: [...new Set(transferList)],
        bytes,
        resolve: resolve as (result: unknown) => void,
        reject,
      });
      this.#startTasks();
    });
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    for (
      let queued = this.#queues.dequeue(() => true);
      queued !== undefined;
      queued = this.#queues.dequeue(() => true)
    ) {
      queued.reject(new RequestError(503, "the server is closing"));
    }
    await Promise.all([...this.#threads].map((thread) => thread.terminate()));
  }

  /** Starts queued tasks while there are both a free thread and a task whose tenant has no running task. */
  #startTasks(): void {
    for (;;) {
      const hasThread =
        this.#idle.length > 0 || this.#threads.size + this.#startingCount < this.#threadsMax;
      const next = hasThread
        ? this.#queues.dequeue((tenantId) => !this.#busyTenants.has(tenantId))
        : undefined;
      if (next === undefined) {
        return;
      }
      this.#busyTenants.add(next.tenantId);
      void this.#perform(next, this.#idle.pop());
    }
  }

  /** Performs a task and settles its promise. Never rejects. */
  async #perform(queuedTask: QueuedTask, idleThread: Worker | undefined): Promise<void> {
    const { tenantId, bytes, resolve, reject } = queuedTask;
    try {
      const thread = idleThread ?? (await this.#startThread());
      const message = await this.#execute(thread, queuedTask);
      if (message.kind === "refused") {
        reject(new RequestError(message.status, message.detail));
      } else {
        resolve(message.kind === "done" ? message.result : undefined);
      }
    } catch (cause) {
      reject(cause instanceof RequestError ? cause : new RequestError(503, messageOf(cause), 1));
    } finally {
      this.#queuedBytes -= bytes;
      this.#busyTenants.delete(tenantId);
      this.#startTasks();
    }
  }

  async #startThread(): Promise<Worker> {
    this.#startingCount += 1;
    const thread = new Worker(toDistFileUrl("work.worker.js"), {
      ...threadOptions,
      name: "millrace-work",
      resourceLimits: { maxOldGenerationSizeMb: serverLimits.workHeapMebibytes },
    });
    try {
      // The thread does not use SQLite, so it can be terminated at any time and needs no message that asks it to end.
      await waitForFirstMessage(thread, undefined);
    } finally {
      this.#startingCount -= 1;
    }
    if (!this.#isOpen) {
      await thread.terminate();
      throw new RequestError(503, "the server is closing");
    }
    this.#threads.add(thread);
    // An error of a thread must not end the server. The promise of its running task is rejected by the exit listener in
    // `#execute`.
    thread.on("error", () => undefined);
    thread.once("exit", () => {
      this.#threads.delete(thread);
      const index = this.#idle.indexOf(thread);
      if (index !== -1) {
        this.#idle.splice(index, 1);
      }
    });
    return thread;
  }

  async #execute(thread: Worker, { task, transferList }: QueuedTask): Promise<WorkMessage> {
    let timer: NodeJS.Timeout | undefined;
    let onMessage: ((message: WorkMessage) => void) | undefined;
    let onExit: (() => void) | undefined;
    try {
      const message = await new Promise<WorkMessage>((resolve, reject) => {
        onMessage = resolve;
        onExit = () =>
          reject(new RequestError(413, "the task needs more memory than allowed; send less"));
        thread.once("message", onMessage).once("exit", onExit);
        const withinMs = Math.min(this.#timeoutMs, taskLimitsMs[task.kind] ?? this.#timeoutMs);
        timer = setTimeout(() => {
          this.#threads.delete(thread);
          thread.off("exit", onExit ?? (() => undefined));
          void thread.terminate();
          reject(
            new RequestError(
              422,
              `${describeTask(task)} took longer than ${withinMs} ms: ${adviceByKind[task.kind] ?? "send less, or use a simpler schema"}`,
            ),
          );
        }, withinMs);
        thread.postMessage(task, transferList);
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

/** Time limits of tasks that may never end, by kind, in milliseconds. */
const taskLimitsMs: Readonly<Record<string, number>> = {
  schema: serverLimits.schemaTaskMs,
  renderPrompt: serverLimits.scoreTaskMs,
  scoreOutput: serverLimits.scoreTaskMs,
  fillJudgePrompt: serverLimits.scoreTaskMs,
};

const describeTask = ({ kind }: WorkTask): string => descriptions[kind] ?? "parsing the large body";

const descriptions: Readonly<Record<string, string>> = {
  schema: "validation against the dataset's schema",
  renderPrompt: "filling in the prompt",
  scoreOutput: "scoring",
  fillJudgePrompt: "filling in the prompt of the judge",
};

const adviceByKind: Readonly<Record<string, string>> = {
  renderPrompt: "use a smaller template or smaller examples",
  fillJudgePrompt: "use a smaller template, or only members of inputs and output in it",
  scoreOutput: "use a simpler regular expression, or compare shorter texts",
};
