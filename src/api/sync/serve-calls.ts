import type { MessagePort } from "node:worker_threads";
import { AttemptLog } from "../../model/records/attempt-log.ts";
import { restoreTypes } from "./argument-serialization.ts";
import { packError } from "./packed-error.ts";
import type { ResourceCall, SyncRequest, Outcome, SyncReply, WorkerChannel } from "./protocol.ts";

/** Sends messages to the blocked thread, and wakes it for each of them. */
export class ReplyChannel {
  readonly #port: MessagePort;
  readonly #messageCounter: Int32Array;

  constructor({ port, messageCounter }: WorkerChannel) {
    this.#port = port;
    this.#messageCounter = new Int32Array(messageCounter);
    // These handlers run for every exit that can still run code. After any other exit the blocked thread
    // receives no messages, and detects the end by a timeout.
    process.once("uncaughtExceptionMonitor", (error) => this.end(`it failed: ${error.message}`));
    process.once("exit", (code) => this.end(`it ended with ${code}`));
  }

  /** @throws `DataCloneError` if a part of the message can't be cloned. */
  send(reply: SyncReply): void {
    this.#port.postMessage(reply);
    Atomics.add(this.#messageCounter, 0, 1);
    Atomics.notify(this.#messageCounter, 0);
  }

  /** Reports that the worker is ending, and why. */
  end(reason: string): void {
    this.send({ kind: "ended", reason });
  }

  onRequest(handle: (request: SyncRequest) => void): void {
    this.#port.on("message", handle);
  }
}

/** What a call needs besides its arguments. */
export interface CallControl {
  /** Aborts the call. */
  readonly signal: AbortSignal;
  /**
   * Reports failed attempts to the blocked thread. If the time limit ends the call, the error names the last failure.
   */
  readonly attempts: AttemptLog;
}

/** Makes a call. */
export type MakeCall = (call: ResourceCall, control: CallControl) => Promise<unknown>;

/** Makes the calls that are requested over the channel, and sends back their results. */
export function serveCalls(channel: ReplyChannel, makeCall: MakeCall): void {
  const inFlight = new Map<number, AbortController>();

  async function serve(request: SyncRequest & { readonly kind: "call" }): Promise<void> {
    const { id } = request;
    const cancel = new AbortController();
    inFlight.set(id, cancel);
    const attempts = new AttemptLog(({ error, mayHaveTakenEffect }) => {
      channel.send({ kind: "attempted", id, error: packError(error), mayHaveTakenEffect });
    });
    const control = { signal: cancel.signal, attempts };
    const outcome = await settleCall(id, () => makeCall(request, control));
    inFlight.delete(id);
    if (!cancel.signal.aborted) {
      send(outcome);
    }
  }

  function send(outcome: Outcome): void {
    try {
      channel.send(outcome);
    } catch (error) {
      channel.send({ kind: "failed", id: outcome.id, error: packError(error) });
    }
  }

  channel.onRequest((request) => {
    switch (request.kind) {
      case "ping":
        return channel.send({ kind: "pong" });
      case "cancel":
        return inFlight.get(request.id)?.abort();
      case "call":
        restoreTypes(request.changedValues);
        return void serve(request);
    }
  });
}

async function settleCall(id: number, work: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { kind: "succeeded", id, value: await work() };
  } catch (error) {
    return { kind: "failed", id, error: packError(error) };
  }
}

/**
 * Returns the result of `resource.method(...args)`; an async iterable is returned as an array. The names `resource` and
 * `method` are valid, because the blocked thread took them from resources of the same classes.
 */
export async function callResource(
  resources: object,
  { resource, method, args }: ResourceCall,
): Promise<unknown> {
  const target: unknown = Reflect.get(resources, resource);
  const callable: unknown = Reflect.get(Object(target), method);
  if (typeof callable !== "function") {
    throw new TypeError(`There is no ${resource}.${method}`);
  }
  const result: unknown = Reflect.apply(callable, target, args);
  return isAsyncIterable(result) ? collect(result) : result;
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

async function collect(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const array: unknown[] = [];
  for await (const item of items) {
    array.push(item);
  }
  return array;
}
