import type { AsyncLocalStorage } from "node:async_hooks";
import { EventEmitter, once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { currentRun, startRun, withRun } from "../../src/tracing/runs/context.ts";
import { RunTree } from "../../src/tracing/runs/run-tree.ts";
import { traceable } from "../../src/tracing/runs/traceable.ts";
import { CollectingClient } from "./collecting-client.ts";

const client = (): CollectingClient => new CollectingClient();

describe("withRun", () => {
  test("makes a run the current one inside of the function only", () => {
    const run = startRun(client());
    expect(withRun(run, () => currentRun())).toBe(run);
    expect(currentRun()).toBeUndefined();
  });

  test("returns what the function returns, and throws what it throws", () => {
    const run = startRun(client());
    const thrown = new Error("mine");
    expect(withRun(run, () => 42)).toBe(42);
    expect(() =>
      withRun(run, () => {
        throw thrown;
      }),
    ).toThrow(thrown);
  });

  test("runs that a client starts inside become children, unless a parent is given", () => {
    const collector = client();
    const outer = startRun(collector);
    const other = startRun(collector);
    withRun(outer, () => {
      expect(startRun(collector).parentRunId).toBe(outer.id);
      expect(startRun(collector, { parent: other }).parentRunId).toBe(other.id);
      expect(startRun(collector, { parent: null }).parentRunId).toBeUndefined();
    });
  });

  test("with an argument that is no run, the function is still called", () => {
    expect(withRun(undefined as unknown as RunTree, () => 7)).toBe(7);
  });

  test("a remote run can be the current one", () => {
    const collector = client();
    const remote = RunTree.fromHeaders(startRun(client()).toHeaders(), { client: collector })!;
    withRun(remote, () => startRun(collector, { name: "child" }));
    expect(collector.start("child").parentRunId).toBe(remote.id);
  });
});

describe("nesting", () => {
  test("branches of Promise.all each keep their own parent", async () => {
    const collector = client();
    const leaf = traceable(async (n: number) => n, { name: "leaf", client: collector });
    const branch = traceable(
      async (n: number) => {
        await delay(n % 3);
        return await leaf(n);
      },
      { name: "branch", client: collector },
    );
    await Promise.all(Array.from({ length: 20 }, async (_, n) => await branch(n)));
    const branches = new Map(
      collector
        .starts()
        .filter(({ name }) => name === "branch")
        .map((run) => [run.id, run]),
    );
    const leaves = collector.starts().filter(({ name }) => name === "leaf");
    expect(leaves).toHaveLength(20);
    for (const each of leaves) {
      const parent = branches.get(each.parentRunId ?? "");
      expect(parent?.inputs).toEqual(each.inputs);
    }
  });

  test("continues in timers, immediates, microtasks and listeners", async () => {
    const collector = client();
    const leaf = traceable((via: string) => via, { name: "leaf", client: collector });
    const root = startRun(collector, { name: "root" });
    const emitter = new EventEmitter();
    emitter.on("go", () => leaf("listener"));
    await withRun(root, async () => {
      setTimeout(() => leaf("timer"), 1);
      setImmediate(() => leaf("immediate"));
      queueMicrotask(() => leaf("microtask"));
      process.nextTick(() => leaf("tick"));
      emitter.emit("go");
      const waiting = once(emitter, "later");
      setTimeout(() => emitter.emit("later"), 2);
      await waiting;
      leaf("after an event");
      await delay(5);
    });
    const leaves = collector.starts().filter(({ name }) => name === "leaf");
    expect(leaves).toHaveLength(6);
    expect(leaves.every(({ parentRunId }) => parentRunId === root.id)).toBe(true);
  });
});

describe("the shared storage", () => {
  test("is the existing one, under the symbol that LangChain uses", () => {
    const key = Symbol.for("ls:tracing_async_local_storage");
    const run = startRun(client());
    withRun(run, () => {
      const storage = Reflect.get(globalThis, key) as AsyncLocalStorage<{ id: string }>;
      expect(storage.getStore()).toMatchObject({ id: run.id, trace_id: run.traceId });
    });
  });

  test.each([
    ["a placeholder without ids", { tracingEnabled: true }],
    ["context variables only", { [Symbol.for("lc:context_variables")]: {} }],
    ["a text", "garbage"],
    [
      "a hostile object",
      new Proxy(
        {},
        {
          get: () => {
            throw new Error("hostile");
          },
        },
      ),
    ],
    [
      "a run tree that is switched off",
      {
        createChild: () => {},
        postRun: () => {},
        id: "0197d3a4-0000-7000-8000-000000000001",
        dotted_order: "20251121T101320123456Z0197d3a4-0000-7000-8000-000000000001",
        tracingEnabled: false,
      },
    ],
    [
      "a run tree whose order is malformed",
      {
        createChild: () => {},
        postRun: () => {},
        id: "0197d3a4-0000-7000-8000-000000000001",
        dotted_order: "garbage",
      },
    ],
  ])("%s in it is not used as a parent, and throws nothing", (_, store) => {
    const collector = client();
    const storage = Reflect.get(
      globalThis,
      Symbol.for("ls:tracing_async_local_storage"),
    ) as AsyncLocalStorage<unknown>;
    storage.run(store, () => {
      expect(currentRun()).toBeUndefined();
      const run = startRun(collector);
      expect(run.parentRunId).toBeUndefined();
      expect(withRun(run, () => currentRun())).toBe(run);
    });
  });
});
