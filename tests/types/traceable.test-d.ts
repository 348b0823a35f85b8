import { expectTypeOf, test } from "vitest";
import { traceable } from "../../src/tracing/runs/traceable.ts";
import type { TraceableOptions } from "../../src/tracing/runs/traceable.ts";

test("keeps parameters and result, synchronous or not", () => {
  const add = traceable((a: number, b?: string) => `${a}${b}`);
  expectTypeOf(add).toEqualTypeOf<(a: number, b?: string) => string>();
  const ask = traceable(async (question: string) => ({ answer: question }));
  expectTypeOf(ask).returns.resolves.toEqualTypeOf<{ answer: string }>();
  expectTypeOf(ask).parameters.toEqualTypeOf<[question: string]>();
});

test("keeps generics", () => {
  const same = traceable(<T>(value: T): T => value);
  expectTypeOf(same(1 as const)).toEqualTypeOf<1>();
  expectTypeOf(same("a" as const)).toEqualTypeOf<"a">();
});

test("keeps overloads", () => {
  function parse(text: string): string;
  function parse(count: number): number;
  function parse(value: string | number): string | number {
    return value;
  }
  const traced = traceable(parse);
  expectTypeOf(traced("a")).toEqualTypeOf<string>();
  expectTypeOf(traced(1)).toEqualTypeOf<number>();
});

test("keeps this", () => {
  const next = traceable(function (this: { readonly step: number }, from: number) {
    return from + this.step;
  });
  expectTypeOf(next).thisParameter.toEqualTypeOf<{ readonly step: number }>();
  // @ts-expect-error `this` is required
  next(1);
});

test("keeps generators, streams and properties", () => {
  const tokens = traceable(async function* () {
    yield "a";
  });
  expectTypeOf(tokens).returns.toEqualTypeOf<AsyncGenerator<string, void, unknown>>();
  const stream = traceable(() => new ReadableStream<Uint8Array>());
  expectTypeOf(stream).returns.toEqualTypeOf<ReadableStream<Uint8Array>>();
  expectTypeOf(traceable(Object.assign(() => 1, { version: 7 })).version).toEqualTypeOf<number>();
});

test("refuses a value that is not a function, an unknown run type, and an async processor", () => {
  // @ts-expect-error not a function
  traceable(42);
  // @ts-expect-error no run type of that name
  traceable(() => 1, { runType: "model" });
  // @ts-expect-error it must not return a promise
  const options: TraceableOptions = { processInputs: async (inputs) => inputs };
  expectTypeOf(options).toExtend<TraceableOptions>();
});

test("an aggregator may declare its chunks; without a declaration they are unknown", () => {
  const options: TraceableOptions = {
    aggregator: (chunks: readonly string[]) => chunks.join(""),
    threadId: "thread",
    userId: "user",
    referenceExampleId: "0192d4c0-0000-7000-8000-000000000001",
  };
  expectTypeOf(options.aggregator).not.toBeAny();
  traceable(
    async function* () {
      yield 1;
    },
    {
      aggregator: (chunks) => {
        expectTypeOf(chunks).toEqualTypeOf<readonly unknown[]>();
        return chunks.length;
      },
    },
  );
  // @ts-expect-error a name, not an object
  traceable(() => 1, { threadId: { id: "thread" } });
});
