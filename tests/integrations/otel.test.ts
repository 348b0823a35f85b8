import Anthropic from "@anthropic-ai/sdk";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { Attributes, Tracer, TracerProvider } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { ReadableSpan, SpanProcessor } from "@opentelemetry/sdk-trace-base";
import { BasicTracerProvider as Provider1 } from "sdk-trace-base-1";
import { describe, expect, onTestFinished, test } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";
import { wrapAnthropic } from "../../src/integrations/anthropic/index.ts";
import {
  millraceTracerProvider,
  MillraceSpanProcessor,
} from "../../src/integrations/otel/index.ts";
import { Client, currentRun, traceable, withRun } from "../../src/main/index.ts";
import type { ClientOptions, Run } from "../../src/main/index.ts";
import { replyAsAnthropic } from "../support/anthropic-replies.ts";
import { startModelApi } from "../support/fake-model-api.ts";

async function openClient(options: ClientOptions = {}): Promise<Client> {
  const { url } = await runServer();
  const client = new Client({ endpoint: url, ...options });
  onTestFinished(() => client.close().then(() => undefined));
  return client;
}

/** Lets spans find their parents, until the test ends. */
function useContextManager(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  onTestFinished(() => {
    context.disable();
  });
}

const readRuns = async (client: Client): Promise<readonly Run[]> => {
  await client.flush();
  const runs = await client.runs.list({ projectNames: ["default"] }).toArray();
  return runs.toSorted((a, b) => a.id.localeCompare(b.id));
};

/** A tracer of each version of the SDK, whose spans go to the processors. */
const sdks: Readonly<Record<string, (processors: SpanProcessor[]) => Tracer>> = {
  "SDK 2": (spanProcessors) =>
    new BasicTracerProvider({
      resource: resourceFromAttributes({ "service.name": "shop" }),
      spanProcessors,
    }).getTracer("scope", "1.2.3"),
  "SDK 1": (processors) => {
    const provider = new Provider1();
    for (const processor of processors) {
      provider.addSpanProcessor(processor as never);
    }
    return provider.getTracer("scope", "1.2.3");
  },
};

/** The exporter is of version 2. */
const forVersion2 = (processor: SpanProcessor): SpanProcessor => ({
  onStart: () => undefined,
  onEnd: (span) => {
    const { instrumentationLibrary, parentSpanId } = span as unknown as {
      readonly instrumentationLibrary?: ReadableSpan["instrumentationScope"];
      readonly parentSpanId?: string;
    };
    const members =
      instrumentationLibrary === undefined
        ? {}
        : {
            instrumentationScope: instrumentationLibrary,
            parentSpanContext: parentSpanId && { ...span.spanContext(), spanId: parentSpanId },
          };
    processor.onEnd(Object.assign(Object.create(span) as ReadableSpan, members));
  },
  forceFlush: () => processor.forceFlush(),
  shutdown: () => processor.shutdown(),
});

const chatAttributes: Attributes = {
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": "openai",
  "gen_ai.request.model": "gpt-4o",
  "gen_ai.request.temperature": 0.5,
  "gen_ai.request.stop_sequences": ["end", "stop"],
  "gen_ai.usage.input_tokens": 12,
  "gen_ai.usage.output_tokens": 3,
  "gen_ai.usage.cache_read.input_tokens": 4,
  "gen_ai.conversation.id": "thread 1",
  "gen_ai.input.messages": JSON.stringify([
    { role: "user", parts: [{ type: "text", content: "How is Wien?" }] },
  ]),
  "gen_ai.output.messages": JSON.stringify([
    {
      role: "assistant",
      parts: [{ type: "tool_call", id: "1", name: "weather", arguments: { city: "Wien" } }],
    },
  ]),
  "gen_ai.tool.definitions": '[{"name":"weather"}]',
  "langsmith.metadata": '{"a":{"b":[1,2.5,null]}}',
  "langsmith.span.tags": "red, blue",
  "not.json": "{",
};

/** Spans with all that a span can have. */
function tellStory(tracer: Tracer): void {
  tracer.startActiveSpan(
    "agent",
    { kind: SpanKind.SERVER, attributes: { "traceloop.span.kind": "agent" } },
    (root) => {
      tracer.startActiveSpan("chat gpt-4o", { kind: SpanKind.CLIENT }, (span) => {
        span.setAttributes(chatAttributes);
        span.addEvent("gen_ai.choice", { index: 0, finish_reason: "stop" });
        span.end();
      });
      tracer.startActiveSpan("weather", { links: [{ context: root.spanContext() }] }, (span) => {
        span.setAttribute("ai.operationId", "ai.toolCall");
        span.setAttribute("ai.toolCall.name", "weather");
        span.setAttribute("ai.toolCall.args", '{"city":"Wien"}');
        span.recordException(new TypeError("no weather"));
        span.setStatus({ code: SpanStatusCode.ERROR, message: "failed" });
        span.end();
      });
      root.updateName("agent of the day");
      root.end();
    },
  );
}

/** What must be equal. The SDK adds facts about itself. */
const toComparable = ({ projectId: _, appPath: _path, extra, ...run }: Run) => {
  const { runtime: _runtime, ...otherExtra } = extra ?? {};
  return { ...run, extra: otherExtra };
};

describe.each(Object.keys(sdks))("%s", (version) => {
  const createTracer = sdks[version];

  test("spans become the runs that the server makes of them", async () => {
    useContextManager();
    const [here, there] = [await openClient(), await runServer()];
    const exporter = new OTLPTraceExporter({ url: `${there.url}/otel/v1/traces` });
    const otherProcessor = forVersion2(new SimpleSpanProcessor(exporter));
    const tracer = createTracer?.([new MillraceSpanProcessor({ client: here }), otherProcessor]);
    tellStory(tracer ?? trace.getTracer("none"));
    await otherProcessor.forceFlush();
    const reader = new Client({ endpoint: there.url });
    const expected = await readRuns(reader);
    await reader.close();
    const actual = await readRuns(here);
    expect(expected).toHaveLength(3);
    expect(actual.map(toComparable)).toEqual(expected.map(toComparable));
  });

  test("a span without a parent is the child of the current run", async () => {
    useContextManager();
    const client = await openClient();
    const tracer = createTracer?.([new MillraceSpanProcessor({ client })]);
    const outer = client.startRun({ name: "outer" });
    withRun(outer, () => tellStory(tracer ?? trace.getTracer("none")));
    outer.end();
    const runs = await readRuns(client);
    const find = (name: string): Run | undefined => runs.find((run) => run.name === name);
    expect(find("agent of the day")?.parentRunId).toBe(outer.id);
    expect(find("weather")?.parentRunId).toBe(find("agent of the day")?.id);
    expect(runs.every(({ traceId }) => traceId === outer.traceId)).toBe(true);
    expect(client.stats().warnings).toEqual({});
  });
});

describe("millraceTracerProvider", () => {
  test("spans and runs nest in each other, without a context manager", async () => {
    const client = await openClient();
    const tracer = millraceTracerProvider({ client }).getTracer("library", "2.0.0");
    const look = traceable(async () => tracer.startSpan("inner").end(), { client, name: "look" });
    const outer = client.startRun({ name: "outer" });
    const result = await withRun(outer, () =>
      tracer.startActiveSpan(
        "span",
        { attributes: { "traceloop.span.kind": "tool" } },
        async (span) => {
          await look();
          span.setStatus({ code: SpanStatusCode.OK }).end();
          span.setAttribute("late", true);
          return currentRun()?.parentRunId;
        },
      ),
    );
    outer.end();
    expect(result).toBe(outer.id);
    const runs = await readRuns(client);
    const find = (name: string): Run | undefined => runs.find((run) => run.name === name);
    expect(find("span")).toMatchObject({ parentRunId: outer.id, runType: "tool" });
    expect(find("look")?.parentRunId).toBe(find("span")?.id);
    expect(find("inner")?.parentRunId).toBe(find("look")?.id);
    expect(find("inner")?.extra?.metadata).toMatchObject({
      "otel.scope.name": "library",
      "otel.scope.version": "2.0.0",
    });
    expect(JSON.stringify(runs)).not.toContain("late");
  });

  test("its spans become the runs that those of the SDK become", async () => {
    useContextManager();
    const [ours, theirs] = [await openClient(), await openClient()];
    tellStory(millraceTracerProvider({ client: ours }).getTracer("scope", "1.2.3"));
    const processor = new MillraceSpanProcessor({ client: theirs });
    tellStory(new BasicTracerProvider({ spanProcessors: [processor] }).getTracer("scope", "1.2.3"));
    const describeRuns = async (client: Client) =>
      (await readRuns(client))
        .map(({ name, runType, inputs, outputs, tags, events, error, extra }) => ({
          name,
          runType,
          inputs,
          outputs,
          tags,
          events: events?.map((event) => (event as { readonly name: string }).name),
          error: error?.split("\n", 1),
          keys: Object.keys(extra?.metadata ?? {})
            .filter((key) => !key.startsWith("service.") && !key.startsWith("telemetry."))
            .toSorted(),
        }))
        .toSorted((a, b) => a.name.localeCompare(b.name));
    expect(await describeRuns(ours)).toEqual(await describeRuns(theirs));
  });
});

describe("Anthropic's own spans", () => {
  const request = {
    model: "claude-next",
    max_tokens: 100,
    messages: [{ role: "user", content: "Where is the horse?" }],
  } satisfies Anthropic.MessageCreateParamsNonStreaming;

  const providers: Readonly<Record<string, (client: Client) => TracerProvider>> = {
    "the SDK's provider": (client) =>
      new BasicTracerProvider({ spanProcessors: [new MillraceSpanProcessor({ client })] }),
    "Millrace's provider": (client) => millraceTracerProvider({ client }),
  };

  test.each(Object.keys(providers))(
    "are one run with those of wrapAnthropic, with %s",
    async (name) => {
      useContextManager();
      const api = await startModelApi(replyAsAnthropic);
      const client = await openClient();
      trace.setGlobalTracerProvider(providers[name]?.(client) ?? trace.getTracerProvider());
      onTestFinished(() => {
        trace.disable();
      });
      const anthropic = new Anthropic({
        apiKey: "key",
        baseURL: api.url,
        openTelemetry: { traces: { contentMode: "content" } },
      });
      await wrapAnthropic(anthropic, { client }).messages.create(request);
      const wrapped = await readRuns(client);
      expect(wrapped).toMatchObject([
        { name: "ChatAnthropic", runType: "llm", totalTokens: 3_250 },
      ]);
      await anthropic.messages.create(request);
      const runs = await readRuns(client);
      expect(runs).toHaveLength(2);
      expect(runs.find(({ id }) => id !== wrapped[0]?.id)).toMatchObject({
        runType: "llm",
        inputs: { messages: request.messages },
        outputs: {
          usage_metadata: {
            input_tokens: 3_210,
            output_tokens: 40,
            total_tokens: 3_250,
            input_token_details: { cache_read: 3_000, cache_creation: 200 },
          },
        },
      });
    },
  );
});

describe("privacy", () => {
  const record = async (options: ClientOptions): Promise<Run | undefined> => {
    useContextManager();
    const client = await openClient(options);
    // Until the code is loaded that finds payloads in spans.
    await new Promise((resolve) => {
      setTimeout(resolve, 200);
    });
    tellStory(
      new BasicTracerProvider({
        spanProcessors: [new MillraceSpanProcessor({ client })],
      }).getTracer("scope"),
    );
    return (await readRuns(client)).find(({ name }) => name === "chat gpt-4o");
  };

  test("what an option hides is not recorded", async () => {
    expect(await record({ hideInputs: true })).toMatchObject({
      inputs: {},
      outputs: { usage_metadata: { input_tokens: 12 } },
    });
    const withoutOutputs = await record({ hideOutputs: true });
    expect(JSON.stringify(withoutOutputs?.outputs)).not.toContain("Wien");
    expect(JSON.stringify(withoutOutputs?.inputs)).toContain("Wien");
    const withoutMetadata = await record({ hideMetadata: true });
    expect(JSON.stringify(withoutMetadata?.extra)).not.toContain("gpt-4o");
  });

  test("a function of the program sees the payloads, and a rule masks them", async () => {
    const replaced = await record({ hideInputs: (inputs) => ({ keys: Object.keys(inputs) }) });
    expect(replaced?.inputs).toEqual({ keys: ["messages"] });
    const masked = await record({ redact: [{ name: "city", pattern: /Wien/g }] });
    expect(JSON.stringify(masked)).not.toContain("Wien");
  });
});

test("a span that is not sampled, and one that a filter refuses, are left out", async () => {
  useContextManager();
  const client = await openClient();
  const processor = new MillraceSpanProcessor({
    client,
    filter: ({ name }) => {
      if (name === "broken") {
        throw new Error("broken filter");
      }
      return name !== "middle";
    },
  });
  const tracer = new BasicTracerProvider({ spanProcessors: [processor] }).getTracer("scope");
  tracer.startActiveSpan("broken", (root) => {
    tracer.startActiveSpan("middle", (middle) => {
      tracer.startSpan("leaf").end();
      middle.end();
    });
    root.end();
  });
  const runs = await readRuns(client);
  expect(runs.map(({ name }) => name).toSorted()).toEqual(["broken", "leaf"]);
  expect(runs.find(({ name }) => name === "leaf")?.parentRunId).toBe(
    runs.find(({ name }) => name === "broken")?.id,
  );
});

const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error("hostile");
    },
    ownKeys: () => {
      throw new Error("hostile");
    },
  },
);

test("attributes that throw when they are read are replaced by the reason", async () => {
  const client = await openClient({ workers: 0 });
  const tracer = millraceTracerProvider({ client }).getTracer("library");
  const span = tracer.startSpan("span", { attributes: hostile });
  span.setAttributes(hostile).addEvent("event", hostile).setAttribute("a", 1).end();
  const [run] = await readRuns(client);
  expect(run?.extra?.metadata).toMatchObject({
    a: 1,
    millrace_error: "The attributes could not be read: hostile",
  });
});

test("what is no span is ignored", () => {
  const processor = new MillraceSpanProcessor();
  for (const value of [undefined, {}, hostile]) {
    processor.onStart(value as never);
    processor.onEnd(value as never);
  }
  expect(processor).toBeInstanceOf(MillraceSpanProcessor);
});
