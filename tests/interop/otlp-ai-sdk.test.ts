import { context } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { startTestServer } from "../support/test-server.ts";
import type { RunningServer } from "@millrace/server";
import {
  embed,
  embedMany,
  generateObject,
  generateText,
  jsonSchema,
  rerank,
  simulateReadableStream,
  stepCountIs,
  streamObject,
  streamText,
  tool,
} from "ai";
import { MockEmbeddingModelV3, MockLanguageModelV3, MockRerankingModelV3 } from "ai/test";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client } from "../../src/main/index.ts";
import type { WireRun } from "../../src/main/index.ts";
import {
  AsyncContextManager,
  exportProject,
  metadataOf,
  runNamed,
} from "../support/exported-project.ts";
import type { ExportedProject } from "../support/exported-project.ts";

let server: RunningServer;
let client: Client;

beforeAll(async () => {
  context.setGlobalContextManager(new AsyncContextManager());
  server = await startTestServer();
  client = new Client({ endpoint: server.url });
});

afterAll(async () => {
  context.disable();
  await client.close();
  await server.close();
});

const telemetryOf = ({ provider }: ExportedProject, metadata: Record<string, string> = {}) => ({
  isEnabled: true,
  tracer: provider.getTracer("ai"),
  functionId: "forecast",
  metadata,
});

/** 10 input tokens, of which 3 were read from a cache and 1 was written to it, and 5 output tokens. */
const usage = {
  inputTokens: { total: 10, noCache: 6, cacheRead: 3, cacheWrite: 1 },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
};
const storedUsage = {
  input_tokens: 10,
  output_tokens: 5,
  total_tokens: 15,
  input_token_details: { cache_read: 3, cache_creation: 1 },
  output_token_details: { reasoning: 2 },
};
const stop = { unified: "stop", raw: "end_turn" } as const;

/** A model that first thinks and calls the tool `weather`, and then answers. */
function createAgentModel(modelId = "claude"): MockLanguageModelV3 {
  const toolCall = {
    type: "tool-call",
    toolCallId: "c1",
    toolName: "weather",
    input: '{"city":"Paris"}',
  } as const;
  const finishReason = { unified: "tool-calls", raw: "tool_use" } as const;
  return new MockLanguageModelV3({
    provider: "anthropic.messages",
    modelId,
    doGenerate: [
      {
        content: [
          { type: "reasoning", text: "I must look." },
          { type: "text", text: "A moment." },
          toolCall,
        ],
        finishReason,
        usage,
        warnings: [],
      },
      { content: [{ type: "text", text: "Rain." }], finishReason: stop, usage, warnings: [] },
    ],
  });
}

const createWeather = (execute: (input: { readonly city: string }) => Promise<unknown>) =>
  tool({
    description: "The weather in a city",
    inputSchema: jsonSchema<{ readonly city: string }>({
      type: "object",
      properties: { city: { type: "string" } },
    }),
    execute,
  });

const childrenOf = (runs: readonly WireRun[], parent: WireRun): readonly WireRun[] =>
  runs.filter((run) => run.parent_run_id === parent.id);

/** Calls of a model that responds at once begin at the same time. Each one has the messages of the call before it. */
const messageCountOf = (run: WireRun): number =>
  (run.inputs as { readonly messages: readonly unknown[] }).messages.length;

describe.each([
  ["JSON", JsonExporter],
  ["protobuf", ProtobufExporter],
] as const)("generateText, exported as %s,", (_, Exporter) => {
  test("is a chain of model calls and tools with their content, tokens and conversation", async () => {
    const project = exportProject(server, client, Exporter);
    await generateText({
      model: createAgentModel(),
      system: "Be brief.",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Umbrella?" },
            { type: "image", image: new Uint8Array([1, 2, 3]), mediaType: "image/png" },
          ],
        },
      ],
      tools: { weather: createWeather(async ({ city }) => ({ city, sky: "rain" })) },
      stopWhen: stepCountIs(3),
      temperature: 0.5,
      headers: { authorization: "Bearer secret-of-the-program" },
      experimental_telemetry: telemetryOf(project, {
        sessionId: "chat 1",
        userId: "user 1",
        plan: "pro",
      }),
    });
    const runs = await project.readRuns(4);
    const operation = runNamed(runs, "ai.generateText forecast");
    const calls = childrenOf(runs, operation)
      .filter(({ name }) => name === "ai.generateText.doGenerate forecast")
      .toSorted((left, right) => messageCountOf(left) - messageCountOf(right));
    const weather = runNamed(runs, "weather");
    expect(calls.map(({ run_type: type }) => type)).toEqual(["llm", "llm"]);
    expect(weather).toMatchObject({ run_type: "tool", parent_run_id: operation.id });
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } };
    const question = [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "Umbrella?" }, image] },
    ];
    const call = {
      role: "assistant",
      content: [
        { type: "reasoning", text: "I must look." },
        { type: "text", text: "A moment." },
      ],
      tool_calls: [
        {
          id: "c1",
          type: "function",
          function: { name: "weather", arguments: '{"city":"Paris"}' },
        },
      ],
    };
    const answer = { role: "assistant", content: "Rain.", finish_reason: "stop" };
    expect(operation).toMatchObject({
      run_type: "chain",
      parent_run_id: null,
      inputs: { messages: question },
      outputs: {
        messages: [answer],
        usage_metadata: { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
      },
    });
    const [first, second] = calls;
    expect(first).toMatchObject({
      inputs: { messages: question },
      outputs: {
        messages: [{ ...call, finish_reason: "tool-calls" }],
        usage_metadata: storedUsage,
      },
      extra: {
        invocation_params: {
          model: "claude",
          temperature: 0.5,
          tool_choice: { type: "auto" },
          tools: [{ type: "function", name: "weather", description: "The weather in a city" }],
        },
      },
    });
    expect(weather).toMatchObject({
      inputs: { city: "Paris" },
      outputs: { city: "Paris", sky: "rain" },
    });
    expect(second).toMatchObject({
      inputs: {
        messages: [
          ...question,
          call,
          {
            role: "tool",
            name: "weather",
            tool_call_id: "c1",
            content: { city: "Paris", sky: "rain" },
          },
        ],
      },
      outputs: { messages: [answer], usage_metadata: storedUsage },
    });
    for (const run of runs) {
      expect(metadataOf(run)).toMatchObject({
        thread_id: "chat 1",
        user_id: "user 1",
        plan: "pro",
        "ai.telemetry.metadata.sessionId": "chat 1",
      });
      expect(metadataOf(run)).not.toHaveProperty(["otel.warnings"]);
    }
    expect(metadataOf(first!)).toMatchObject({ ls_provider: "anthropic", ls_model_name: "claude" });
    expect(JSON.stringify(runs)).not.toContain("secret-of-the-program");
    expect(metadataOf(operation)["ai.request.headers.authorization"]).toBe("***");
  });
});

test("tokens are counted once per model call, with the cached ones among the input", async () => {
  const project = exportProject(server, client);
  await generateText({
    model: createAgentModel(),
    prompt: "Umbrella?",
    tools: { weather: createWeather(async () => "rain") },
    stopWhen: stepCountIs(3),
    experimental_telemetry: telemetryOf(project),
  });
  await project.readRuns(4);
  expect(await client.runs.stats({ projectNames: [project.name] })).toMatchObject({
    promptTokens: 20,
    completionTokens: 10,
    totalTokens: 30,
  });
});

test("costs are counted once per model call, at the rates of the cache for cached tokens", async () => {
  const project = exportProject(server, client);
  await generateText({
    model: createAgentModel("claude-sonnet-4-5"),
    prompt: "Umbrella?",
    tools: { weather: createWeather(async () => "rain") },
    stopWhen: stepCountIs(3),
    experimental_telemetry: telemetryOf(project),
  });
  await project.readRuns(4);
  const { totalCost } = await client.runs.stats({ projectNames: [project.name] });
  // In dollars for a million tokens: input 3, read from the cache 0.3, written to it 3.75, output 15.
  const callCost = (6 * 3 + 3 * 0.3 + 1 * 3.75 + 5 * 15) / 1e6;
  expect(Number(totalCost)).toBeCloseTo(2 * callCost, 12);
});

test("streamText has the text, the tokens and the time of the first chunk", async () => {
  const project = exportProject(server, client);
  const model = new MockLanguageModelV3({
    doStream: {
      stream: simulateReadableStream({
        initialDelayInMs: 30,
        chunks: [
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: "Ra" },
          { type: "text-delta", id: "1", delta: "in." },
          { type: "text-end", id: "1" },
          { type: "finish", finishReason: stop, usage },
        ],
      }),
    },
  });
  const { text } = streamText({
    model,
    prompt: "Umbrella?",
    experimental_telemetry: telemetryOf(project),
  });
  expect(await text).toBe("Rain.");
  const runs = await project.readRuns(2);
  const operation = runNamed(runs, "ai.streamText forecast");
  const call = runNamed(runs, "ai.streamText.doStream forecast");
  expect(operation).toMatchObject({
    run_type: "chain",
    inputs: { messages: [{ role: "user", content: "Umbrella?" }] },
    outputs: { messages: [{ role: "assistant", content: "Rain.", finish_reason: "stop" }] },
  });
  expect(call).toMatchObject({
    run_type: "llm",
    parent_run_id: operation.id,
    outputs: {
      messages: [{ role: "assistant", content: "Rain.", finish_reason: "stop" }],
      usage_metadata: storedUsage,
    },
    events: [{ name: "new_token" }, { name: "ai.stream.firstChunk" }, { name: "ai.stream.finish" }],
  });
  const { firstTokenTime, startTime, endTime } = await client.runs.read(call.id);
  expect(firstTokenTime! >= startTime! && firstTokenTime! <= endTime!).toBe(true);
});

test("generateObject and streamObject have the object as outputs", async () => {
  const project = exportProject(server, client);
  const schema = jsonSchema<{ readonly mm: number }>({
    type: "object",
    properties: { mm: { type: "number" } },
  });
  const text = '{"mm":0.10}';
  const model = new MockLanguageModelV3({
    doGenerate: { content: [{ type: "text", text }], finishReason: stop, usage, warnings: [] },
    doStream: {
      stream: simulateReadableStream({
        chunks: [
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: text },
          { type: "text-end", id: "1" },
          { type: "finish", finishReason: stop, usage },
        ],
      }),
    },
  });
  const options = { model, schema, prompt: "Rain?", experimental_telemetry: telemetryOf(project) };
  await generateObject(options);
  const { partialObjectStream, object } = streamObject(options);
  for await (const partial of partialObjectStream) {
    expect(partial).toBeTypeOf("object");
  }
  expect(await object).toEqual({ mm: 0.1 });
  const runs = await project.readRuns(4);
  for (const name of [
    "generateObject",
    "generateObject.doGenerate",
    "streamObject",
    "streamObject.doStream",
  ]) {
    expect(runNamed(runs, `ai.${name} forecast`)).toMatchObject({
      run_type: name.includes(".") ? "llm" : "chain",
      inputs: { messages: [{ role: "user" }] },
      outputs: { object: { mm: 0.1 }, usage_metadata: { input_tokens: 10, output_tokens: 5 } },
    });
  }
});

test("embed and embedMany have an embedding below a chain, with texts, vectors and tokens", async () => {
  const project = exportProject(server, client);
  const model = new MockEmbeddingModelV3({
    provider: "openai.embedding",
    modelId: "embedder",
    maxEmbeddingsPerCall: 2,
    supportsParallelCalls: false,
    doEmbed: async ({ values }) => ({
      embeddings: values.map((_, index) => [index, 0.5]),
      usage: { tokens: 7 },
      warnings: [],
    }),
  });
  const experimental_telemetry = telemetryOf(project);
  await embed({ model, value: "rain", experimental_telemetry });
  await embedMany({ model, values: ["a", "b", "c"], experimental_telemetry });
  const runs = await project.readRuns(5);
  const [one, many] = ["ai.embed forecast", "ai.embedMany forecast"].map((name) =>
    runNamed(runs, name),
  );
  expect([one?.run_type, many?.run_type]).toEqual(["chain", "chain"]);
  expect(many).toMatchObject({
    inputs: { texts: ["a", "b", "c"] },
    outputs: {
      embeddings: [
        [0, 0.5],
        [1, 0.5],
        [0, 0.5],
      ],
    },
  });
  const calls = childrenOf(runs, many!).map(({ run_type: type, inputs }) => [type, inputs]);
  expect(calls).toHaveLength(2);
  expect(calls).toContainEqual(["embedding", { texts: ["a", "b"] }]);
  expect(calls).toContainEqual(["embedding", { texts: ["c"] }]);
  const [call] = childrenOf(runs, one!);
  expect(call).toMatchObject({
    run_type: "embedding",
    inputs: { texts: ["rain"] },
    outputs: { embeddings: [[0, 0.5]], usage_metadata: { input_tokens: 7, total_tokens: 7 } },
  });
  expect(metadataOf(call!)).toMatchObject({ ls_provider: "openai", ls_model_name: "embedder" });
});

test("rerank has a retriever with documents and their ranking", async () => {
  const project = exportProject(server, client);
  const model = new MockRerankingModelV3({
    doRerank: async () => ({ ranking: [{ index: 1, relevanceScore: 0.9 }], warnings: [] }),
  });
  const documents = ["sun", "rain"];
  await rerank({ model, query: "wet", documents, experimental_telemetry: telemetryOf(project) });
  const runs = await project.readRuns(2);
  expect(runNamed(runs, "ai.rerank forecast")).toMatchObject({
    run_type: "chain",
    inputs: { documents },
  });
  expect(runNamed(runs, "ai.rerank.doRerank forecast")).toMatchObject({
    run_type: "retriever",
    inputs: { documents },
    outputs: { ranking: [{ index: 1, relevanceScore: 0.9 }] },
  });
});

test("a model that fails is the error of the call and of the operation", async () => {
  const project = exportProject(server, client);
  const model = new MockLanguageModelV3({
    doGenerate: () => Promise.reject(new TypeError("overloaded")),
  });
  const experimental_telemetry = telemetryOf(project);
  await expect(
    generateText({ model, prompt: "Umbrella?", maxRetries: 0, experimental_telemetry }),
  ).rejects.toThrow("overloaded");
  const runs = await project.readRuns(2);
  expect(runs.map(({ error }) => error?.split("\n")[0])).toEqual([
    "TypeError: overloaded",
    "TypeError: overloaded",
  ]);
});

test("a tool that fails is the error of its run and a result that is marked as one", async () => {
  const project = exportProject(server, client);
  await generateText({
    model: createAgentModel(),
    prompt: "Umbrella?",
    tools: { weather: createWeather(() => Promise.reject(new Error("no sky"))) },
    stopWhen: stepCountIs(3),
    experimental_telemetry: telemetryOf(project),
  });
  const runs = await project.readRuns(4);
  const weather = runNamed(runs, "weather");
  expect(weather).toMatchObject({ run_type: "tool", inputs: { city: "Paris" } });
  expect(weather.error?.split("\n")[0]).toBe("Error: no sky");
  const [, call] = runs
    .filter(({ run_type: type }) => type === "llm")
    .toSorted((left, right) => messageCountOf(left) - messageCountOf(right));
  const { messages } = call!.inputs as { readonly messages: readonly unknown[] };
  expect(messages.at(-1)).toMatchObject({ role: "tool", content: "no sky", is_error: true });
  expect(runNamed(runs, "ai.generateText forecast").error).toBeNull();
});
