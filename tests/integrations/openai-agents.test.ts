import { describe, expect, test } from "vitest";
import { MillraceTracingProcessor } from "../../src/integrations/openai-agents/index.ts";
import type { AgentsSpan, AgentsTrace } from "../../src/integrations/openai-agents/index.ts";
import { RunTree, withRun } from "../../src/main/index.ts";
import { CollectingClient } from "../tracing/collecting-client.ts";

// The real library demands a newer Node than this repository: tests/latest/openai-agents.test.ts.

const trace: AgentsTrace = { traceId: "trace_1", name: "workflow", groupId: null };

let spanCount = 0;
const startSpan = (spanData: AgentsSpan["spanData"], rest: Partial<AgentsSpan> = {}) => ({
  traceId: trace.traceId,
  spanId: `span_${(spanCount += 1)}`,
  parentId: null,
  spanData,
  startedAt: new Date().toISOString(),
  endedAt: null as string | null,
  error: null,
  ...rest,
});
const ended = (span: AgentsSpan): AgentsSpan => ({ ...span, endedAt: new Date().toISOString() });

function createProcessor() {
  const client = new CollectingClient();
  return { client, processor: new MillraceTracingProcessor({ client }) };
}

describe("a span", () => {
  test("whose end is reported first is recorded once, with its own start time", async () => {
    const { client, processor } = createProcessor();
    await processor.onTraceStart(trace);
    const span = startSpan({ type: "agent" }, { startedAt: "2000-01-01T00:00:00.000Z" });
    await processor.onSpanEnd(ended(span));
    await processor.onSpanStart(ended(span));
    await processor.onTraceEnd(trace);
    expect(client.starts().map(({ name }) => name)).toEqual(["workflow", "agent"]);
    expect(client.ends().map(({ name }) => name)).toEqual(["agent", "workflow"]);
    // Not before its parent, although its clock says so.
    expect(client.start("agent").dottedOrder > client.start("workflow").dottedOrder).toBe(true);
  });

  test("of a trace that is not known is recorded below the current run", async () => {
    const { client, processor } = createProcessor();
    const run = new RunTree({ client, name: "current" });
    const span = startSpan({ type: "custom" });
    await withRun(run, () => processor.onSpanStart(span));
    await processor.onSpanEnd(ended(span));
    expect(client.start("custom").parentRunId).toBe(run.id);
    expect(client.end("custom").error).toBeUndefined();
  });

  test("that is open when its trace ends is ended, and marked", async () => {
    const { client, processor } = createProcessor();
    await processor.onTraceStart(trace);
    await processor.onSpanStart(startSpan({ type: "turn" }));
    await processor.onTraceEnd(trace);
    expect(client.end("turn").metadata).toMatchObject({ millrace_unfinished: true });
    expect(client.ends()).toHaveLength(2);
  });

  test("below one that has ended is recorded below it", async () => {
    const { client, processor } = createProcessor();
    await processor.onTraceStart(trace);
    const outer = startSpan({ type: "agent" });
    await processor.onSpanStart(outer);
    await processor.onSpanEnd(ended(outer));
    const inner = startSpan({ type: "turn" }, { parentId: outer.spanId });
    await processor.onSpanStart(inner);
    expect(client.start("turn").parentRunId).toBe(client.start("agent").id);
  });

  test("whose data can't be read is recorded with a marker, and does not reject", async () => {
    const { client, processor } = createProcessor();
    await processor.onTraceStart(trace);
    const data = new Proxy(
      { type: "function" },
      {
        ownKeys: () => {
          throw new Error("unreadable");
        },
      },
    );
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const span = startSpan(data, { error: { message: "failed", data: circular } });
    await processor.onSpanStart(span);
    await processor.onSpanEnd(ended(span));
    expect(client.end("span")).toMatchObject({
      metadata: { millrace_error: "the data of the span can't be read" },
      error: "failed",
    });
  });

  test("of a kind that is not known is recorded with its data", async () => {
    const { client, processor } = createProcessor();
    const span = startSpan({ type: "dream", depth: 3 } as AgentsSpan["spanData"]);
    await processor.onSpanStart(span);
    await processor.onSpanEnd(ended(span));
    expect(client.end("dream").outputs).toEqual({ type: "dream", depth: 3 });
  });

  test("with audio records its format and length instead of the audio", async () => {
    const { client, processor } = createProcessor();
    const data = {
      type: "transcription",
      input: { data: "QUJD", format: "pcm" },
      output: "hello",
      model: "whisper",
    };
    const span = startSpan(data);
    await processor.onSpanStart(span);
    await processor.onSpanEnd(ended(span));
    expect(client.start("transcription").runType).toBe("llm");
    expect(client.updated).toMatchObject([
      { inputs: { input: { format: "pcm", base64Length: 4 } } },
    ]);
    expect(client.end("transcription")).toMatchObject({
      outputs: { output: "hello" },
      metadata: { ls_model_name: "whisper" },
    });
  });

  test("of a model without usage, or with counts that are none, reports no tokens", async () => {
    const { client, processor } = createProcessor();
    for (const usage of [undefined, {}, { input_tokens: -1, output_tokens: "3" }, null]) {
      const span = startSpan({ type: "generation", usage } as AgentsSpan["spanData"]);
      await processor.onSpanStart(span);
      await processor.onSpanEnd(ended(span));
    }
    expect(client.ends().map(({ outputs }) => outputs)).toEqual([{}, {}, {}, {}]);
    expect(client.updated).toEqual([]);
  });
});

test("in a trace that is not sampled, nothing is recorded", async () => {
  const client = new CollectingClient({ isSampled: () => false });
  const processor = new MillraceTracingProcessor({ client });
  await processor.onTraceStart(trace);
  const span = startSpan({ type: "function", input: "{}" } as AgentsSpan["spanData"]);
  await processor.onSpanStart(span);
  await processor.onSpanEnd(ended(span));
  await processor.onTraceEnd(trace);
  expect([client.records, client.updated]).toEqual([[], []]);
});

test("spans and traces that never end are bounded: the oldest are ended", async () => {
  const { client, processor } = createProcessor();
  for (let count = 0; count < 10_010; count += 1) {
    await processor.onTraceStart({ ...trace, traceId: `trace_${count}` });
    await processor.onSpanStart(startSpan({ type: "turn" }, { traceId: `trace_${count}` }));
  }
  expect(
    client
      .ends()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual([...Array<string>(10).fill("turn"), ...Array<string>(10).fill("workflow")]);
});

test("shutdown waits as long as flush does, and the processor can be used again", async () => {
  const flushes: unknown[][] = [];
  const client = Object.assign(new CollectingClient(), {
    flush: async (...args: unknown[]) => {
      flushes.push(args);
    },
  });
  const processor = new MillraceTracingProcessor({ client });
  await processor.onTraceStart(trace);
  await processor.onTraceEnd(trace);
  await processor.shutdown();
  await processor.forceFlush();
  expect(flushes).toEqual([[], []]);
  await processor.onTraceStart(trace);
  await processor.onTraceEnd(trace);
  expect(client.ends()).toHaveLength(2);
});
