import { toWireRun } from "../support/wire-run.ts";
import { context, ROOT_CONTEXT, SpanStatusCode, trace, TraceFlags } from "@opentelemetry/api";
import type { Context, Span, SpanOptions, Tracer } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace-base";
import { startTestServer } from "../support/test-server.ts";
import type { RunningServer } from "@millrace/server";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Client } from "../../src/main/index.ts";
import type { WireRun } from "../../src/main/index.ts";

let server: RunningServer;
let client: Client;

beforeAll(async () => {
  server = await startTestServer();
  client = new Client({ endpoint: server.url });
});

afterAll(async () => {
  await client.close();
  await server.close();
});

const exporters = [
  ["JSON", JsonExporter],
  ["protobuf", ProtobufExporter],
] as const;

/** Configures OpenTelemetry as an application would, with a separate project for each test. */
function setUp(Exporter: typeof JsonExporter, options: object = {}) {
  const project = `otlp ${crypto.randomUUID()}`;
  const exporter: SpanExporter = new Exporter({
    url: `${server.url}/otel/v1/traces`,
    headers: { "Langsmith-Project": project },
    ...options,
  });
  const memory = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": "mill" }),
    spanProcessors: [new BatchSpanProcessor(exporter), new SimpleSpanProcessor(memory)],
  });
  const offline = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] });
  onTestFinished(() => provider.shutdown());
  const runs = async () =>
    (await client.runs.list({ projectNames: [project], order: "asc" }).toArray()).map(toWireRun);
  return {
    exporter,
    memory,
    provider,
    tracer: provider.getTracer("tests", "1.0.0"),
    /** Keeps its spans in memory only. */
    offlineTracer: offline.getTracer("tests"),
    runs,
  };
}

/** Runs the work inside of an active span. */
function within(
  { tracer, parent, options = {} }: { tracer: Tracer; parent: Context; options?: SpanOptions },
  name: string,
  work: (inside: Context, span: Span) => void,
): void {
  const span = tracer.startSpan(name, options, parent);
  work(trace.setSpan(parent, span), span);
  span.end();
}

/** Records an agent that calls a model, which calls a tool. */
function runAgent(tracer: Tracer): void {
  within({ tracer, parent: ROOT_CONTEXT }, "agent", (inAgent, agent) => {
    agent.setAttributes({ "openinference.span.kind": "AGENT", "input.value": "Weather?" });
    within({ tracer, parent: inAgent }, "chat gpt-4", (inChat, chat) => {
      chat.setAttributes({
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4",
        "gen_ai.input.messages": JSON.stringify([
          { role: "user", parts: [{ type: "text", content: "Weather?" }] },
        ]),
        "gen_ai.output.messages": JSON.stringify([
          { role: "assistant", parts: [{ type: "text", content: "Rain." }], finish_reason: "stop" },
        ]),
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.response.finish_reasons": ["stop"],
        "mill.ratio": 0.5,
        "mill.on": true,
      });
      within({ tracer, parent: inChat }, "execute_tool weather", (_, tool) => {
        tool.setAttributes({
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.call.arguments": '{"city":"Paris"}',
        });
        tool.recordException(new TypeError("no umbrella"));
        tool.setStatus({ code: SpanStatusCode.ERROR, message: "no umbrella" });
      });
    });
    agent.setAttribute("output.value", "Rain.");
  });
}

const uuidOf = (hex: string): string =>
  hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

const named = (runs: readonly WireRun[], name: string): WireRun => {
  const found = runs.find((run) => run.name === name);
  expect(found).toBeDefined();
  return found!;
};

describe.each(exporters)("the exporter of %s", (_, Exporter) => {
  test.each([["none"], ["gzip"]])(
    "with compression %s: nested spans are read back as runs",
    async (compression) => {
      const { provider, tracer, memory, runs } = setUp(Exporter, { compression });
      runAgent(tracer);
      await provider.forceFlush();
      const found = await runs();
      expect(found).toHaveLength(3);
      const [agent, chat, tool] = ["agent", "chat gpt-4", "execute_tool weather"].map((name) =>
        named(found, name),
      );
      const traceUuid = uuidOf(memory.getFinishedSpans()[0]?.spanContext().traceId ?? "");
      expect(agent).toMatchObject({
        id: traceUuid,
        trace_id: traceUuid,
        parent_run_id: null,
        run_type: "chain",
        inputs: { input: "Weather?" },
        outputs: { output: "Rain." },
      });
      expect(chat).toMatchObject({
        trace_id: traceUuid,
        parent_run_id: traceUuid,
        run_type: "llm",
        inputs: { messages: [{ role: "user", content: "Weather?" }] },
        outputs: {
          messages: [{ role: "assistant", content: "Rain.", finish_reason: "stop" }],
          usage_metadata: { input_tokens: 12, output_tokens: 3, total_tokens: 15 },
        },
      });
      expect(chat?.extra).toMatchObject({
        metadata: {
          "service.name": "mill",
          "otel.scope.name": "tests",
          ls_model_name: "gpt-4",
          ls_provider: "openai",
          "mill.ratio": 0.5,
          "mill.on": true,
          "gen_ai.response.finish_reasons": ["stop"],
        },
      });
      expect(tool).toMatchObject({
        parent_run_id: chat?.id,
        run_type: "tool",
        inputs: { city: "Paris" },
        error: expect.stringContaining("TypeError: no umbrella") as unknown,
      });
      expect(tool?.dotted_order?.startsWith(`${chat?.dotted_order}.`)).toBe(true);
      expect(tool?.events).toMatchObject([{ name: "exception" }]);
    },
  );

  test("keeps the times of a span to the microsecond", async () => {
    const { provider, tracer, runs } = setUp(Exporter);
    const startTime: [number, number] = [1_795_255_872, 345_678_901];
    const span = tracer.startSpan("timed", { startTime });
    span.end([1_795_255_873, 1_999]);
    await provider.forceFlush();
    expect(await runs()).toMatchObject([
      { start_time: "2026-11-21T10:11:12.345678Z", end_time: "2026-11-21T10:11:13.000001Z" },
    ]);
  });

  test("sending the same spans twice creates no additional runs", async () => {
    const { provider, exporter, tracer, memory, runs } = setUp(Exporter);
    runAgent(tracer);
    await provider.forceFlush();
    const before = await runs();
    expect(await send(exporter, memory.getFinishedSpans())).toBe(0);
    expect(await runs()).toEqual(before);
  });

  test("sending children before their root, one by one, creates the same tree", async () => {
    const { exporter, offlineTracer, memory, runs } = setUp(Exporter);
    runAgent(offlineTracer);
    for (const span of memory.getFinishedSpans()) {
      expect(await send(exporter, [span])).toBe(0);
    }
    const found = await runs();
    const [agent, chat, tool] = ["agent", "chat gpt-4", "execute_tool weather"].map((name) =>
      named(found, name),
    );
    expect(found).toHaveLength(3);
    expect(agent?.parent_run_id).toBeNull();
    expect(tool?.dotted_order?.split(".").map((segment) => segment.slice(22))).toEqual([
      agent?.id,
      chat?.id,
      tool?.id,
    ]);
  });

  test("a span with a remote parent is a root until the parent arrives", async () => {
    const { provider, tracer, runs } = setUp(Exporter);
    const traceId = crypto.randomUUID().replaceAll("-", "");
    const caller = {
      traceId,
      spanId: "00f067aa0ba902b7",
      traceFlags: TraceFlags.SAMPLED,
      isRemote: true,
    };
    const parent = trace.setSpanContext(context.active(), caller);
    within({ tracer, parent }, "POST /chat", (inside) => {
      within({ tracer, parent: inside }, "chat", () => {});
    });
    await provider.forceFlush();
    const found = await runs();
    expect(named(found, "POST /chat")).toMatchObject({ id: uuidOf(traceId), parent_run_id: null });
    expect(named(found, "chat").parent_run_id).toBe(uuidOf(traceId));
  });
});

/** Sends spans, and resolves to the exporter's result code: 0 is success. */
const send = (exporter: SpanExporter, spans: ReadableSpan[]): Promise<number> =>
  new Promise((resolve) => {
    exporter.export(spans, ({ code }) => resolve(code));
  });
