import { traceable } from "../../src/tracing/runs/traceable.ts";
import type { TraceableFunction, TraceableOptions } from "../../src/tracing/runs/traceable.ts";
import { CollectingClient } from "./collecting-client.ts";

/** A traced function named `fn`, with the client that records it. */
export function traced<Fn extends TraceableFunction>(
  fn: Fn,
  options: TraceableOptions = {},
): { readonly collector: CollectingClient; readonly fn: Fn } {
  const collector = new CollectingClient();
  return { collector, fn: traceable(fn, { name: "fn", client: collector, ...options }) };
}

/** All items of an async iterable. */
export async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const each of iterable) {
    all.push(each);
  }
  return all;
}
