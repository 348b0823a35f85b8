import { expect, test } from "vitest";
import { RunTree } from "../../src/tracing/run-tree.ts";
import { snapshotOf } from "../../src/tracing/snapshot.ts";
import { CollectingClient } from "./collecting-client.ts";

test("a change of what was copied is not seen, at any level", () => {
  const inner = { a: [1, { b: 2 }] };
  const copy = snapshotOf({ inner });
  inner.a.push(3);
  Object.assign(inner.a[1] as object, { b: 9 });
  expect(copy).toEqual({ inner: { a: [1, { b: 2 }] } });
});

test("other kinds of objects, and what has a toJSON, are kept as they are", () => {
  const map = new Map();
  const own = { toJSON: () => "x", a: 1 };
  const copy = snapshotOf([map, own]) as readonly unknown[];
  expect(copy[0]).toBe(map);
  expect(copy[1]).toBe(own);
});

test("a cycle ends", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  expect(snapshotOf(cyclic)).toHaveProperty("self.self.self");
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
