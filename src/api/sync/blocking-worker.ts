import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { TimeoutError, ValidationError, WorkerError } from "../../model/errors.ts";
import type { SdkError } from "../../model/errors.ts";
import type { SerializedArguments } from "./argument-serialization.ts";
import { unpackError } from "./packed-error.ts";
import type { FailedAttempt, SyncRequest, Outcome, SyncReply, WorkerChannel } from "./protocol.ts";

/** Options of {@link BlockingWorker}. */
export interface BlockingWorkerOptions {
  /** Path of the worker's module. */
  readonly path: string;
  /** Data for the worker, in addition to its {@link WorkerChannel}. */
  readonly data: object;
  /** Environment variables of the worker. */
  readonly env: Readonly<Record<string, string>>;
  /** Called with the worker's warnings and their topics, before the call returns. */
  readonly warn: (message: string, topic?: string) => void;
  /**
   * Time in milliseconds after which a worker that sends no message is considered crashed. This limit is needed because
   * a blocked thread receives no `exit` event. Only the time that the thread spends waiting is measured, so that a
   * process that was suspended does not consider its worker crashed.
   *
   * @defaultValue 15,000; starting the worker takes less time than that, and so does parsing the largest response
   */
  readonly longestSilenceMs?: number;
}

/** A call of a resource's method that blocks for at most `timeoutMs`. */
export interface BlockingCall extends SerializedArguments {
  readonly resource: string;
  readonly method: string;
  readonly timeoutMs: number;
}

/** A call that ended without a result. */
interface UnansweredCall {
  readonly id: number;
  readonly timeoutMs: number;
  /** Its last failed attempt; `undefined` if none has failed. */
  readonly lastAttempt: FailedAttempt | undefined;
}

/** Longest wait before the worker is pinged. */
const pingIntervalMs = 1_000;

/**
 * A worker that makes calls while this thread blocks. It has ended once it was closed, has exited or has stopped
 * responding.
 */
export class BlockingWorker {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #messageCounter: Int32Array<SharedArrayBuffer>;
  readonly #warn: (message: string, topic?: string) => void;
  readonly #longestSilenceMs: number;
  #silentMs = 0;
  #lastId = 0;
  /** Why the worker ended; `undefined` while it runs. */
  #endReason: string | undefined;

  /** @throws {@link WorkerError} if the worker can't be started. */
  constructor({ path, data, env, warn, longestSilenceMs = 15_000 }: BlockingWorkerOptions) {
    const { port1, port2 } = new MessageChannel();
    const messageCounter = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    this.#port = port1;
    this.#messageCounter = new Int32Array(messageCounter);
    this.#warn = warn;
    this.#longestSilenceMs = longestSilenceMs;
    try {
      this.#worker = new Worker(path, {
        name: "millrace-sync",
        workerData: { ...data, port: port2, messageCounter } satisfies WorkerChannel,
        transferList: [port2],
        // With the program's own flags, modules that it preloads would run in this worker too, and start workers of
        // their own.
        execArgv: [],
        env,
      });
    } catch (cause) {
      throw new WorkerError(
        "The worker for blocking calls can't start; the error's cause is the reason. Use the client's asynchronous call and await it instead",
        { cause },
      );
    }
    // Without a listener, an error of the worker would end the program.
    this.#worker.on("error", (error: Error) => this.#end(`it failed: ${error.message}`));
    this.#worker.on("exit", () => this.#end("it ended"));
    // A caller that waits for a result blocks the process anyway; between calls the worker must not keep the process
    // alive.
    this.#worker.unref();
  }

  get hasEnded(): boolean {
    return this.#endReason !== undefined;
  }

  /**
   * Makes a call and blocks until its result has arrived.
   *
   * @throws {@link TimeoutError} if no result arrived in time. The call is cancelled, and a late result is
   * ignored.
   * @throws {@link WorkerError} if the worker ended.
   */
  call({ timeoutMs, ...call }: BlockingCall): Outcome {
    const name = `client.sync.${call.resource}.${call.method}`;
    const deadline = performance.now() + timeoutMs;
    const id = ++this.#lastId;
    this.#post({ kind: "call", id, ...call });
    let lastAttempt: FailedAttempt | undefined;
    for (;;) {
      const reply = this.#receiveReply(deadline);
      if (reply === undefined) {
        throw this.#toError(name, { id, timeoutMs, lastAttempt });
      }
      if (reply.kind === "warned") {
        this.#warn(reply.message, reply.topic);
      } else if (reply.kind === "attempted") {
        lastAttempt = reply.id === id ? reply : lastAttempt;
      } else if (reply.kind !== "pong" && reply.id === id) {
        // Late results of earlier calls that timed out are ignored.
        return reply;
      }
    }
  }

  /** Terminates the worker and its calls in flight. May be called twice. */
  async close(): Promise<void> {
    this.#end("it was closed");
    await this.#worker.terminate();
  }

  #toError(name: string, { id, timeoutMs, lastAttempt }: UnansweredCall): SdkError {
    const text = `Failed to make the call ${name}`;
    const effect = describeEffect(lastAttempt);
    const options = lastAttempt === undefined ? {} : { cause: unpackError(lastAttempt.error) };
    if (this.#endReason !== undefined) {
      const reason = `the worker thread ended (${this.#endReason})`;
      return new WorkerError(`${text}: ${reason}; ${effect}`, options);
    }
    this.#post({ kind: "cancel", id });
    this.#post({ kind: "ping" });
    return new TimeoutError(`${text}: no response within ${timeoutMs} ms; ${effect}`, options);
  }

  /** Waits for the next message. Returns `undefined` at the deadline, or when the worker has ended. */
  #receiveReply(deadline: number): Exclude<SyncReply, { kind: "ended" }> | undefined {
    while (this.#endReason === undefined) {
      // Read the counter before the port: if a message arrives in between, the wait below returns at once.
      const messageCount = Atomics.load(this.#messageCounter, 0);
      const reply = receiveMessageOnPort(this.#port)?.message as SyncReply | undefined;
      if (reply !== undefined) {
        this.#silentMs = 0;
        if (reply.kind !== "ended") {
          return reply;
        }
        this.#end(reply.reason);
        return undefined;
      }
      const remainingMs = deadline - performance.now();
      if (remainingMs <= 0) {
        return undefined;
      }
      this.#wait(messageCount, Math.min(remainingMs, pingIntervalMs));
    }
    return undefined;
  }

  #wait(messageCount: number, waitMs: number): void {
    if (Atomics.wait(this.#messageCounter, 0, messageCount, waitMs) === "timed-out") {
      this.#silentMs += waitMs;
      this.#post({ kind: "ping" });
      if (this.#silentMs >= this.#longestSilenceMs) {
        this.#end(`it did not respond for ${this.#longestSilenceMs} ms`);
        void this.#worker.terminate();
      }
    }
  }

  #post(request: SyncRequest): void {
    try {
      this.#port.postMessage(request);
    } catch (cause) {
      const text = "A blocking call can't take an argument that can't be sent to another thread";
      throw new ValidationError(text, { cause });
    }
  }

  #end(reason: string): void {
    this.#endReason ??= reason;
    this.#port.close();
  }
}

/** Describes what a call without a result may have done, and why its last attempt failed. */
function describeEffect(lastAttempt: FailedAttempt | undefined): string {
  if (lastAttempt === undefined) {
    return "the server may have executed the request";
  }
  const { mayHaveTakenEffect, error } = lastAttempt;
  const verb = mayHaveTakenEffect ? "may have executed" : "has not executed";
  return `the server ${verb} the request. The last attempt failed: ${error.message}`;
}
