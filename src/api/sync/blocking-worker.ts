import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { TimeoutError, ValidationError, WorkerError } from "../../model/errors.ts";
import type { SdkError } from "../../model/errors.ts";
import type { SerializedArguments } from "./argument-serialization.ts";
import type { SyncRequest, Outcome, SyncReply, WorkerEnd } from "./protocol.ts";

export interface WorkerStart {
  /** The worker's file. */
  readonly path: string;
  /** What the worker needs to know, beside its {@link WorkerEnd}. */
  readonly data: object;
  /** The environment that it sees. */
  readonly env: Readonly<Record<string, string>>;
  /** Called with the warnings of the worker, by the end of the call. */
  readonly warn: (message: string) => void;
  /**
   * How long it may send nothing before it counts as crashed: a blocked thread receives no `exit` event. Only
   * the time of waits counts, not the clock, so that a process that was suspended does not blame its worker.
   *
   * @defaultValue 15,000; one that starts, or reads the largest answer, is silent for shorter
   */
  readonly longestSilenceMs?: number;
}

export interface BlockingCall extends SerializedArguments {
  readonly resource: string;
  readonly method: string;
  readonly timeoutMs: number;
}

/** Longest wait before the worker is asked to confirm that it still runs. */
const sliceMs = 1_000;
/** A worker that makes calls while this thread blocks. States: up, and over when it ended or fell silent. */
export class BlockingWorker {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #reports: Int32Array<SharedArrayBuffer>;
  readonly #warn: (message: string) => void;
  readonly #longestSilenceMs: number;
  #silentMs = 0;
  #lastId = 0;
  /** Why it is over. */
  #over: string | undefined;

  /** @throws {@link WorkerError} this process can't have one. */
  constructor({ path, data, env, warn, longestSilenceMs = 15_000 }: WorkerStart) {
    const { port1, port2 } = new MessageChannel();
    const reports = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    this.#port = port1;
    this.#reports = new Int32Array(reports);
    this.#warn = warn;
    this.#longestSilenceMs = longestSilenceMs;
    try {
      this.#worker = new Worker(path, {
        name: "millrace-sync",
        workerData: { ...data, port: port2, reports } satisfies WorkerEnd,
        transferList: [port2],
        // Preloads of the program would run in the worker too, and start workers of their own.
        execArgv: [],
        env,
      });
    } catch (cause) {
      throw new WorkerError(
        "The worker for blocking calls can't start, for the reason that is the cause: await the call of the client itself instead",
        { cause },
      );
    }
    // A listener always: without one an error of the worker would end the program.
    this.#worker.on("error", (error: Error) => this.#end(`it failed: ${error.message}`));
    this.#worker.on("exit", () => this.#end("it ended"));
    // Whoever waits for an answer blocks the process; between calls nothing should hold it.
    this.#worker.unref();
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  /**
   * Blocks until the answer is there.
   *
   * @throws {@link TimeoutError} no response came in time; the call is cancelled and its response ignored.
   * @throws {@link WorkerError} the worker ended.
   */
  call({ timeoutMs, ...call }: BlockingCall): Outcome {
    const name = `client.sync.${call.resource}.${call.method}`;
    const deadline = performance.now() + timeoutMs;
    const id = ++this.#lastId;
    this.#post({ kind: "call", id, ...call });
    for (;;) {
      const reply = this.#nextReply(deadline);
      if (reply === undefined) {
        throw this.#failureOf(name, { id, timeoutMs });
      }
      if (reply.kind === "warned") {
        this.#warn(reply.message);
      } else if (reply.kind !== "pong" && reply.id === id) {
        // Answers of calls that were given up are not this one's.
        return reply;
      }
    }
  }

  /** Ends the worker, and what it has under way. May be called twice. */
  async close(): Promise<void> {
    this.#end("it was closed");
    await this.#worker.terminate();
  }

  #failureOf(name: string, { id, timeoutMs }: { id: number; timeoutMs: number }): SdkError {
    const text = `Failed to make the call ${name}`;
    const open = "what it asked for may have happened";
    if (this.#over !== undefined) {
      return new WorkerError(`${text}: its worker is gone, ${this.#over}; ${open}`);
    }
    this.#post({ kind: "cancel", id });
    this.#post({ kind: "ping" });
    return new TimeoutError(`${text}: no answer within ${timeoutMs} ms; ${open}`);
  }

  /** `undefined` at the deadline, or when the worker is over. */
  #nextReply(deadline: number): Exclude<SyncReply, { kind: "ended" }> | undefined {
    while (this.#over === undefined) {
      // Read before the port: a report that comes in between ends the wait at once.
      const seen = Atomics.load(this.#reports, 0);
      const reply = receiveMessageOnPort(this.#port)?.message as SyncReply | undefined;
      if (reply !== undefined) {
        this.#silentMs = 0;
        if (reply.kind !== "ended") {
          return reply;
        }
        this.#end(reply.reason);
        return undefined;
      }
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) {
        return undefined;
      }
      this.#wait(seen, Math.min(leftMs, sliceMs));
    }
    return undefined;
  }

  #wait(seen: number, waitMs: number): void {
    if (Atomics.wait(this.#reports, 0, seen, waitMs) === "timed-out") {
      this.#silentMs += waitMs;
      this.#post({ kind: "ping" });
      if (this.#silentMs >= this.#longestSilenceMs) {
        this.#end(`it gave no sign of life for ${this.#longestSilenceMs} ms`);
        void this.#worker.terminate();
      }
    }
  }

  #post(request: SyncRequest): void {
    try {
      this.#port.postMessage(request);
    } catch (cause) {
      const text = "A blocking call can't take what can't cross to another thread";
      throw new ValidationError(text, { cause });
    }
  }

  #end(reason: string): void {
    this.#over ??= reason;
    this.#port.close();
  }
}
