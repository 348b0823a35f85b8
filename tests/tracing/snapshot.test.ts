import { expect, test } from "vitest";
import { RunTree } from "../../src/tracing/runs/run-tree.ts";
import { createSnapshot } from "../../src/tracing/tape/snapshot.ts";
import { CollectingClient } from "./collecting-client.ts";

test("a later change of the original does not affect the copy, at any level", () => {
  const inner = { a: [1, { b: 2 }] };
  const copy = createSnapshot({ inner });
  inner.a.push(3);
  Object.assign(inner.a[1] as object, { b: 9 });
  expect(copy).toEqual({ inner: { a: [1, { b: 2 }] } });
});

test("a later change of a Map, a Set, a Date or binary data does not affect the copy", () => {
  const inner = { k: 1 };
  const value = {
    map: new Map<string, unknown>([["a", inner]]),
    set: new Set([1]),
    date: new Date(0),
    buffer: Buffer.from("a"),
    floats: new Float64Array([1]),
  };
  const copy = createSnapshot(value);
  inner.k = 2;
  value.map.set("b", 2);
  value.set.clear();
  value.date.setTime(5);
  value.buffer[0] = 0;
  value.floats[0] = 9;
  expect(copy).toEqual({
    map: new Map([["a", { k: 1 }]]),
    set: new Set([1]),
    date: new Date(0),
    buffer: Buffer.from("a"),
    floats: new Float64Array([1]),
  });
});

test("instances of classes, and what has a toJSON, are kept as they are", () => {
  const url = new URL("http://h");
  const own = { toJSON: () => "x", a: 1 };
  const copy = createSnapshot([url, own]) as readonly unknown[];
  expect(copy[0]).toBe(url);
  expect(copy[1]).toBe(own);
});

test("a graph of 2 ** 31 paths is not copied to its end", () => {
  let graph: unknown = 1;
  for (let i = 0; i < 31; i++) {
    graph = { a: graph, b: graph };
  }
  const began = performance.now();
  createSnapshot(graph);
  expect(performance.now() - began).toBeLessThan(5_000);
});

test("a cycle is handled", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  expect(createSnapshot(cyclic)).toHaveProperty("self.self.self");
});

test("P8: events and metadata are recorded as they were when they were added", () => {
  const client = new CollectingClient();
  const run = RunTree.start({ client, recorded: true }, { name: "r" });
  const kwargs = { token: "a" };
  const metadata = { nested: { k: 1 } };
  run.addEvent({ name: "new_token", kwargs });
  run.addMetadata(metadata);
  kwargs.token = "changed";
  metadata.nested.k = 2;
  expect(run.events).toMatchObject([{ name: "new_token", kwargs: { token: "a" } }]);
  expect(run.metadata).toEqual({ nested: { k: 1 } });
  run.end();
});
