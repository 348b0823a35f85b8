import type { MessagePort } from "node:worker_threads";
import { revive } from "./argument-serialization.ts";
import { packError } from "./packed-error.ts";
import type { ResourceCall, SyncRequest, Outcome, SyncReply, WorkerEnd } from "./protocol.ts";

/** What the worker reports wakes the blocked thread. */
export class ReplyChannel {
  readonly #port: MessagePort;
  readonly #reports: Int32Array;

  constructor({ port, reports }: WorkerEnd) {
    this.#port = port;
    this.#reports = new Int32Array(reports);
    // Reached at every end that runs code; of any other the blocked thread learns by the silence.
    process.once("uncaughtExceptionMonitor", (error) => this.end(`it failed: ${error.message}`));
    process.once("exit", (code) => this.end(`it ended with ${code}`));
  }

  /** @throws `DataCloneError` a part of it can't cross. */
  send(reply: SyncReply): void {
    this.#port.postMessage(reply);
    Atomics.add(this.#reports, 0, 1);
    Atomics.notify(this.#reports, 0);
  }

  /** Says that it can't go on, and why. */
  end(reason: string): void {
    this.send({ kind: "ended", reason });
  }

  onRequest(take: (order: SyncRequest) => void): void {
    this.#port.on("message", take);
  }
}

/** Makes a call, which ends when the signal aborts. */
export type MakeCall = (call: ResourceCall, signal: AbortSignal) => Promise<unknown>;

/** Makes the calls that are ordered, and reports what they came to. */
export function serveCalls(channel: ReplyChannel, make: MakeCall): void {
  const inFlight = new Map<number, AbortController>();

  async function serve(request: SyncRequest & { readonly kind: "call" }): Promise<void> {
    const { id } = request;
    const cancel = new AbortController();
    inFlight.set(id, cancel);
    const outcome = await outcomeOf(id, () => make(request, cancel.signal));
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
        revive(request.revivals);
        return void serve(request);
    }
  });
}

async function outcomeOf(id: number, work: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { kind: "answered", id, value: await work() };
  } catch (error) {
    return { kind: "failed", id, error: packError(error) };
  }
}

/**
 * What `resource.method(...args)` comes to: a list becomes an array. Both names were taken from resources of
 * the same kind, in the thread that waits.
 */
export async function resultOf(
  resources: object,
  { resource, method, args }: ResourceCall,
): Promise<unknown> {
  const target: unknown = Reflect.get(resources, resource);
  const work: unknown = Reflect.get(Object(target), method);
  if (typeof work !== "function") {
    throw new TypeError(`There is no ${resource}.${method}`);
  }
  const result: unknown = Reflect.apply(work, target, args);
  return isAsyncIterable(result) ? arrayOf(result) : result;
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

async function arrayOf(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const array: unknown[] = [];
  for await (const item of items) {
    array.push(item);
  }
  return array;
}
