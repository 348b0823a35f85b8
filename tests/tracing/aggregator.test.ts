import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { CollectingClient } from "./collecting-client.ts";
import { collect, traced } from "./traced.ts";
import { traceable } from "../../src/tracing/runs/traceable.ts";

async function* words(): AsyncGenerator<string> {
  yield "Be";
  yield "cause";
}
const join = (chunks: readonly string[]): string => chunks.join("");

describe("an aggregator", () => {
  test("turns the chunks of a generator into the outputs; the caller gets the chunks", async () => {
    const { collector, fn } = traced(words, { aggregator: join });
    await expect(collect(fn())).resolves.toEqual(["Be", "cause"]);
    expect(collector.end("fn").outputs).toEqual({ outputs: "Because" });
    expect(collector.warnings).toEqual([]);
  });

  test("makes an object the outputs, beside the value that the generator returns", async () => {
    const { collector, fn } = traced(
      function* () {
        yield "a";
        return 7;
      },
      { aggregator: (chunks) => ({ count: chunks.length }) },
    );
    expect([...fn()]).toEqual(["a"]);
    expect(collector.end("fn").outputs).toEqual({ count: 1, returned: 7 });
  });

  test("gets the chunks of a ReadableStream", async () => {
    const { collector, fn } = traced(() => Readable.toWeb(Readable.from(["a", "b"])), {
      aggregator: join,
    });
    await collect(fn() as AsyncIterable<unknown>);
    expect(collector.end("fn").outputs).toEqual({ outputs: "ab" });
  });

  test("gets the chunks so far of a stream that is left early or fails, and none of an empty one", async () => {
    const left = traced(words, { aggregator: join });
    for await (const _ of left.fn()) {
      break;
    }
    expect(left.collector.end("fn")).toMatchObject({
      outputs: { outputs: "Be" },
      metadata: { millrace_cancelled: true },
    });
    const failed = traced(
      async function* () {
        yield "Be";
        throw new Error("lost");
      },
      { aggregator: join },
    );
    await expect(collect(failed.fn())).rejects.toThrow("lost");
    expect(failed.collector.end("fn").outputs).toEqual({ outputs: "Be" });
    expect(failed.collector.end("fn").error).toContain("lost");
    const empty = traced(async function* (): AsyncGenerator<string> {}, { aggregator: join });
    await collect(empty.fn());
    expect(empty.collector.end("fn").outputs).toEqual({ outputs: "" });
  });

  test.each<[string, (chunks: string[]) => unknown, string]>([
    [
      "throws",
      (chunks) => {
        chunks.pop();
        throw new Error("s3cr3t");
      },
      "threw",
    ],
    ["returns a promise", () => Promise.reject(new Error("s3cr3t")), "returned a promise"],
    ["returns nothing", () => undefined, "returned nothing"],
  ])("that %s causes a warning, and the chunks are recorded", async (_, aggregator, problem) => {
    const { collector, fn } = traced(words, { aggregator });
    await expect(collect(fn())).resolves.toEqual(["Be", "cause"]);
    expect(collector.end("fn").outputs).toEqual({ outputs: ["Be", "cause"] });
    expect(collector.end("fn").error).toBeUndefined();
    expect(collector.warnings).toEqual([
      {
        kind: "hiddenFailure",
        message: `aggregator ${problem}; the chunks of the stream were recorded instead.`,
      },
    ]);
  });

  test("comes before processOutputs, which also gets the chunks if it fails", async () => {
    const processOutputs = (outputs: object): { readonly keys: string } => ({
      keys: Object.values(outputs).flat().join(),
    });
    const good = traced(words, { aggregator: join, processOutputs });
    await collect(good.fn());
    expect(good.collector.end("fn").outputs).toEqual({ keys: "Because" });
    const bad = traced(words, { aggregator: () => undefined, processOutputs });
    await collect(bad.fn());
    expect(bad.collector.end("fn").outputs).toEqual({ keys: "Be,cause" });
  });

  test("is not called for a value that is not a stream, nor in a trace that is not sampled", async () => {
    let calls = 0;
    const aggregator = (): object => ({ calls: ++calls });
    const { collector, fn } = traced(() => "Because", { aggregator });
    fn();
    expect(collector.end("fn").outputs).toEqual({ outputs: "Because" });
    const unsampled = new CollectingClient({ isSampled: () => false });
    await collect(traceable(words, { client: unsampled, aggregator })());
    expect(calls).toBe(0);
  });
});
