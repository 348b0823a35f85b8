import { once } from "node:events";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { currentRun } from "../../src/tracing/runs/context.ts";
import { collect, traced } from "./traced.ts";

describe("a ReadableStream", () => {
  const chunks = (...all: readonly unknown[]): ReadableStream<unknown> =>
    new ReadableStream({
      start: (controller) => {
        for (const each of all) {
          controller.enqueue(each);
        }
        controller.close();
      },
    });

  test("stays a ReadableStream, and is recorded with its chunks when it is read to the end", async () => {
    const { collector, fn } = traced(() => chunks("a", { b: 1 }), { recordTokens: true });
    const stream = fn();
    expect(stream).toBeInstanceOf(ReadableStream);
    expect(collector.ends()).toEqual([]);
    await expect(collect(stream)).resolves.toEqual(["a", { b: 1 }]);
    expect(collector.end("fn").outputs).toEqual({ outputs: ["a", { b: 1 }] });
    expect(collector.end("fn").events).toHaveLength(2);
  });

  test("works where the platform uses its internals: piping, tee, Response", async () => {
    const { fn } = traced(() => chunks("a", "b").pipeThrough(new TextEncoderStream() as never));
    const [one, two] = fn().tee();
    await expect(new Response(one as ReadableStream<Uint8Array>).text()).resolves.toBe("ab");
    await expect(collect(two.pipeThrough(new TextDecoderStream() as never))).resolves.toEqual([
      "a",
      "b",
    ]);
  });

  test("is read only as far as its consumer reads, inside the run", async () => {
    const pulls: unknown[] = [];
    const { fn } = traced(
      () =>
        new ReadableStream(
          {
            pull: (controller) => {
              pulls.push(currentRun()?.name);
              controller.enqueue(pulls.length);
            },
          },
          { highWaterMark: 0 },
        ),
    );
    const reader = fn().getReader();
    await setImmediate();
    expect(pulls).toEqual([]);
    await reader.read();
    expect(pulls).toEqual(["fn"]);
  });

  test("that is cancelled passes the reason to its source, and is recorded with its chunks so far", async () => {
    let reason: unknown;
    const { collector, fn } = traced(
      () =>
        new ReadableStream({
          pull: (controller) => controller.enqueue("a"),
          cancel: (why) => {
            reason = why;
          },
        }),
    );
    const reader = fn().getReader();
    await reader.read();
    await reader.cancel("enough");
    expect(reason).toBe("enough");
    expect(collector.end("fn")).toMatchObject({
      outputs: { outputs: ["a"] },
      metadata: { millrace_cancelled: true },
    });
  });

  test("that fails is recorded as failed, and its reader gets the same error", async () => {
    const error = new Error("mine");
    const { collector, fn } = traced(
      () =>
        new ReadableStream(
          {
            pull: (controller) => {
              controller.error(error);
            },
          },
          { highWaterMark: 0 },
        ),
    );
    await expect(fn().getReader().read()).rejects.toBe(error);
    expect(collector.end("fn").error).toContain("Error: mine");
  });

  test("of bytes can still be read into the reader's own buffer", async () => {
    const { collector, fn } = traced(
      () =>
        new ReadableStream({
          type: "bytes",
          start: (controller) => {
            controller.enqueue(new TextEncoder().encode("mill"));
            controller.close();
          },
        }),
    );
    const reader = fn().getReader({ mode: "byob" });
    const { value } = await reader.read(new Uint8Array(16));
    expect(new TextDecoder().decode(value)).toBe("mill");
    await expect(reader.read(new Uint8Array(16))).resolves.toMatchObject({ done: true });
    expect(collector.end("fn").outputs).toEqual({ outputs: [new TextEncoder().encode("mill")] });
  });

  test("that is already being read is returned unchanged", () => {
    const stream = chunks("a");
    stream.getReader();
    const { collector, fn } = traced(() => stream);
    expect(fn()).toBe(stream);
    expect(collector.ends()).toHaveLength(1);
  });
});

describe("a Node stream", () => {
  test("is returned unchanged, and its run ends when it closes", async () => {
    const readable = Readable.from(["a", "b"]);
    const { collector, fn } = traced(() => readable);
    const stream = fn();
    expect(stream).toBe(readable);
    await expect(collect(stream)).resolves.toEqual(["a", "b"]);
    await setImmediate();
    expect(collector.end("fn").error).toBeUndefined();
  });

  test("that is destroyed with an error fails its run", async () => {
    const { collector, fn } = traced(() => new Readable({ read: () => {} }));
    const stream = fn();
    const closed = once(stream, "close");
    stream.on("error", () => {}).destroy(new Error("mine"));
    await closed.catch(() => {});
    await setImmediate();
    expect(collector.end("fn").error).toContain("Error: mine");
  });
});
