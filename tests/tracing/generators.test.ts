import { describe, expect, test } from "vitest";
import { currentRun } from "../../src/tracing/runs/context.ts";
import { traceable } from "../../src/tracing/runs/traceable.ts";
import { CollectingClient } from "./collecting-client.ts";
import { collect, traced } from "./traced.ts";

describe("a generator", () => {
  function* count(limit: number): Generator<number, string> {
    for (let n = 0; n < limit; n += 1) {
      yield n;
    }
    return "done";
  }

  test("is recorded with its values when it is exhausted, and not before", () => {
    const { collector, fn } = traced(count);
    const generator = fn(3);
    expect(collector.ends()).toEqual([]);
    expect([...generator]).toEqual([0, 1, 2]);
    expect(collector.end("fn").outputs).toEqual({ outputs: [0, 1, 2], returned: "done" });
  });

  test("starts its body only when it is read, inside the run", () => {
    let began = false;
    const { fn } = traced(function* () {
      began = true;
      yield currentRun()?.name;
    });
    const generator = fn();
    expect(began).toBe(false);
    expect(generator.next().value).toBe("fn");
  });

  test("gets the values that its consumer sends, and passes on its return value", () => {
    const { fn } = traced(function* (): Generator<string, number, string> {
      return (yield "first").length;
    });
    const generator = fn();
    generator.next("");
    expect(generator.next("four")).toEqual({ done: true, value: 4 });
    expect(Object.prototype.toString.call(generator)).toBe("[object Generator]");
  });

  test("that is left early runs its finally block, and is recorded as cancelled with the values so far", () => {
    let cleaned = false;
    const { collector, fn } = traced(function* () {
      try {
        yield 1;
        yield 2;
      } finally {
        cleaned = true;
      }
    });
    for (const _ of fn()) {
      break;
    }
    expect(cleaned).toBe(true);
    expect(collector.end("fn")).toMatchObject({
      outputs: { outputs: [1] },
      metadata: { millrace_cancelled: true },
      error: undefined,
    });
  });

  test("that fails is recorded as failed with the values so far, and throws the same error", () => {
    const error = new Error("mine");
    const { collector, fn } = traced(function* () {
      yield 1;
      throw error;
    });
    const generator = fn();
    generator.next();
    expect(() => generator.next()).toThrow(error);
    expect(collector.end("fn").outputs).toEqual({ outputs: [1] });
    expect(collector.end("fn").error).toContain("Error: mine");
  });

  test("delegates to another, which nests below it", () => {
    const collector = new CollectingClient();
    const inner = traceable(count, { name: "inner", client: collector });
    const outer = traceable(
      function* () {
        return yield* inner(2);
      },
      { name: "outer", client: collector },
    );
    expect([...outer()]).toEqual([0, 1]);
    expect(collector.start("inner").parentRunId).toBe(collector.start("outer").id);
    expect(collector.end("outer").outputs).toEqual({ outputs: [0, 1], returned: "done" });
  });
});

describe("an async generator", () => {
  test("is recorded with its values, and tokens on demand", async () => {
    const { collector, fn } = traced(
      async function* () {
        yield "a";
        yield "b";
      },
      { recordTokens: true },
    );
    await expect(collect(fn())).resolves.toEqual(["a", "b"]);
    expect(collector.end("fn")).toMatchObject({
      outputs: { outputs: ["a", "b"] },
      events: [
        { name: "new_token", kwargs: { token: "a" } },
        { name: "new_token", kwargs: { token: "b" } },
      ],
    });
  });

  test("has no token events by default", async () => {
    const { collector, fn } = traced(async function* () {
      yield "a";
    });
    await collect(fn());
    expect(collector.end("fn").events).toBeUndefined();
  });

  test("runs its body inside the run at every step", async () => {
    const { fn } = traced(async function* () {
      yield currentRun()?.name;
      await Promise.resolve();
      yield currentRun()?.name;
    });
    await expect(collect(fn())).resolves.toEqual(["fn", "fn"]);
    expect(currentRun()).toBeUndefined();
  });

  test("is recorded as cancelled if left early, and as failed if it fails", async () => {
    const left = traced(async function* () {
      yield 1;
      yield 2;
    });
    for await (const _ of left.fn()) {
      break;
    }
    expect(left.collector.end("fn").metadata).toEqual({ millrace_cancelled: true });
    const error = new Error("mine");
    const failed = traced(async function* () {
      yield 1;
      throw error;
    });
    await expect(collect(failed.fn())).rejects.toBe(error);
    expect(failed.collector.end("fn").outputs).toEqual({ outputs: [1] });
    expect(failed.collector.end("fn").error).toContain("Error: mine");
  });

  test("gives the same values to concurrent reads", async () => {
    const { collector, fn } = traced(async function* () {
      yield 1;
      yield 2;
    });
    const generator = fn();
    await expect(
      Promise.all([generator.next(), generator.next(), generator.next()]),
    ).resolves.toMatchObject([{ value: 1 }, { value: 2 }, { done: true }]);
    expect(collector.end("fn").outputs).toEqual({ outputs: [1, 2] });
  });

  test("that a promise resolves to is recorded too", async () => {
    const { collector, fn } = traced(async () =>
      (async function* () {
        yield 1;
      })(),
    );
    const generator = await fn();
    expect(collector.ends()).toEqual([]);
    await expect(collect(generator)).resolves.toEqual([1]);
    expect(collector.end("fn").outputs).toEqual({ outputs: [1] });
  });

  test("another kind of iterable keeps its methods and private fields", async () => {
    class Stream {
      readonly #chunks = ["a", "b"];
      size(): number {
        return this.#chunks.length;
      }
      async *[Symbol.asyncIterator](): AsyncGenerator<string> {
        yield* this.#chunks;
      }
    }
    const { collector, fn } = traced(() => new Stream());
    const stream = fn();
    expect(stream).toBeInstanceOf(Stream);
    expect(stream.size()).toBe(2);
    await expect(collect(stream)).resolves.toEqual(["a", "b"]);
    expect(collector.end("fn").outputs).toEqual({ outputs: ["a", "b"] });
  });
});

test("an infinite stream does not fill the memory: a limited part is recorded", async () => {
  const { collector, fn } = traced(
    function* () {
      for (let n = 0; n < 10_500; n += 1) {
        yield n;
      }
    },
    { recordTokens: true },
  );
  expect([...fn()]).toHaveLength(10_500);
  const { outputs, events, metadata } = collector.end("fn");
  expect((outputs as { outputs: unknown[] }).outputs).toHaveLength(10_000);
  expect(events).toHaveLength(10_000);
  expect(metadata).toEqual({ millrace_chunks: 10_500 });
});

test("large chunks are limited by size too", () => {
  const { collector, fn } = traced(function* () {
    for (let n = 0; n < 5; n += 1) {
      yield "x".repeat(5_000_000);
    }
  });
  expect([...fn()]).toHaveLength(5);
  expect((collector.end("fn").outputs as { outputs: unknown[] }).outputs).toHaveLength(3);
});

test("runs within a stream of an unsampled trace are not recorded either", () => {
  const collector = new CollectingClient({ isSampled: (id) => id === "never" });
  const inner = traceable(() => 1, { name: "inner", client: collector });
  const outer = traceable(
    function* () {
      yield inner();
    },
    { client: collector },
  );
  expect([...outer()]).toEqual([1]);
  expect(collector.records).toEqual([]);
});
