import type { MessagePort } from "node:worker_threads";
import { revive } from "./argument-serialization.ts";
import { packError } from "./packed-error.ts";
import type { NounCall, Order, Outcome, Report, WorkerEnd } from "./protocol.ts";

/** What the worker reports wakes the blocked thread. */
export class Reporting {
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
  send(report: Report): void {
    this.#port.postMessage(report);
    Atomics.add(this.#reports, 0, 1);
    Atomics.notify(this.#reports, 0);
  }

  /** Says that it can't go on, and why. */
  end(reason: string): void {
    this.send({ kind: "ended", reason });
  }

  onOrder(take: (order: Order) => void): void {
    this.#port.on("message", take);
  }
}

/** Makes a call, which ends when the signal aborts. */
export type MakeCall = (call: NounCall, signal: AbortSignal) => Promise<unknown>;

/** Makes the calls that are ordered, and reports what they came to. */
export function serveCalls(reporting: Reporting, make: MakeCall): void {
  const underWay = new Map<number, AbortController>();

  async function serve(order: Order & { readonly kind: "call" }): Promise<void> {
    const { id } = order;
    const cancel = new AbortController();
    underWay.set(id, cancel);
    const outcome = await outcomeOf(id, () => make(order, cancel.signal));
    underWay.delete(id);
    if (!cancel.signal.aborted) {
      send(outcome);
    }
  }

  function send(outcome: Outcome): void {
    try {
      reporting.send(outcome);
    } catch (error) {
      reporting.send({ kind: "failed", id: outcome.id, error: packError(error) });
    }
  }

  reporting.onOrder((order) => {
    switch (order.kind) {
      case "ping":
        return reporting.send({ kind: "pong" });
      case "cancel":
        return underWay.get(order.id)?.abort();
      case "call":
        revive(order.revivals);
        return void serve(order);
    }
  });
}

async function outcomeOf(id: number, ask: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { kind: "answered", id, value: await ask() };
  } catch (error) {
    return { kind: "failed", id, error: packError(error) };
  }
}

/**
 * What `noun.method(...args)` comes to: a list becomes an array. Both names were taken from nouns of
 * the same kind, in the thread that waits.
 */
export async function answerOf(nouns: object, { noun, method, args }: NounCall): Promise<unknown> {
  const target: unknown = Reflect.get(nouns, noun);
  const work: unknown = Reflect.get(Object(target), method);
  if (typeof work !== "function") {
    throw new TypeError(`There is no ${noun}.${method}`);
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
