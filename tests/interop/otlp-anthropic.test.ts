import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { context, trace } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { startTestServer } from "../support/test-server.ts";
import type { RunningServer } from "@millrace/server";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Client } from "../../src/main/index.ts";
import {
  AsyncContextManager,
  exportProject,
  metadataOf,
  runNamed,
} from "../support/exported-project.ts";
import { loopbackServer } from "../support/loopback-server.ts";
import type { ReceivedRequest } from "../support/loopback-server.ts";

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

/** As Anthropic's API counts: 3 tokens beside 100 that were read from the cache and 20 that were written to it. */
const usage = {
  input_tokens: 3,
  cache_read_input_tokens: 100,
  cache_creation_input_tokens: 20,
  output_tokens: 7,
};
const storedUsage = {
  input_tokens: 123,
  output_tokens: 7,
  total_tokens: 130,
  input_token_details: { cache_read: 100, cache_creation: 20 },
};

const messageWith = (content: readonly object[], stopReason: string) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-answering",
  content,
  stop_reason: stopReason,
  usage,
});
const answer = messageWith([{ type: "text", text: "Rain." }], "end_turn");

const textEvents = [
  {
    type: "message_start",
    message: { ...answer, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Ra" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "in." } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 7 } },
  { type: "message_stop" },
];

interface FakeResponse {
  readonly status?: number;
  readonly body: object;
}

/**
 * Configures a test as a program would: OpenTelemetry globally, and Anthropic's SDK, which then records spans without
 * further configuration, against a fake API.
 */
async function setUp(
  Exporter: typeof JsonExporter,
  respond: (request: ReceivedRequest) => FakeResponse = () => ({ body: answer }),
) {
  const api = await loopbackServer({
    info: (response, request) => {
      const isStream = request.body.includes('"stream":true');
      const { status = 200, body } = respond(request);
      response.writeHead(status, {
        "content-type": isStream ? "text/event-stream" : "application/json",
        "request-id": "req_1",
      });
      response.end(
        isStream
          ? textEvents
              .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
              .join("")
          : JSON.stringify(body),
      );
    },
  });
  onTestFinished(() => api.close());
  const project = exportProject(server, client, Exporter);
  trace.setGlobalTracerProvider(project.provider);
  onTestFinished(() => trace.disable());
  const anthropic = new Anthropic({
    apiKey: "key-of-the-program",
    baseURL: api.endpoint,
    maxRetries: 0,
    openTelemetry: { traces: { contentMode: "content" } },
  });
  return { anthropic, project };
}

const request = {
  model: "claude-asked",
  max_tokens: 100,
  system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
  messages: [{ role: "user", content: "Umbrella?" }],
} satisfies Anthropic.MessageCreateParamsNonStreaming;

const inputs = {
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Umbrella?" },
  ],
};
const outputs = {
  messages: [{ role: "assistant", content: "Rain.", finish_reason: "end_turn" }],
  usage_metadata: storedUsage,
};

describe.each([
  ["JSON", JsonExporter],
  ["protobuf", ProtobufExporter],
] as const)("Anthropic's SDK, exported as %s,", (_, Exporter) => {
  test("records a message with content, model, conversation, and cached tokens within the input", async () => {
    const { anthropic, project } = await setUp(Exporter);
    await anthropic.messages.create(request, { openTelemetry: { conversationId: "chat 1" } });
    const runs = await project.readRuns(1);
    const run = runNamed(runs, "anthropic.messages.create");
    expect(run).toMatchObject({ run_type: "llm", error: null, inputs, outputs });
    expect(metadataOf(run)).toMatchObject({
      ls_provider: "anthropic",
      ls_model_name: "claude-asked",
      ls_max_tokens: 100,
      "gen_ai.response.model": "claude-answering",
      thread_id: "chat 1",
      "gen_ai.conversation.id": "chat 1",
      "anthropic.request.id": "req_1",
    });
    expect(metadataOf(run)).not.toHaveProperty(["otel.warnings"]);
    expect(JSON.stringify(run)).not.toContain("key-of-the-program");
    expect(await client.runs.stats({ projectNames: [project.name] })).toMatchObject({
      promptTokens: 123,
      completionTokens: 7,
      totalTokens: 130,
    });
  });

  test("has the costs of its model, at the rates of the cache for cached tokens", async () => {
    const { anthropic, project } = await setUp(Exporter);
    await anthropic.messages.create({ ...request, model: "claude-sonnet-4-5" });
    const [run] = await project.readRuns(1);
    const { promptCost, completionCost, totalCost } = await client.runs.read(run!.id);
    // In dollars for a million tokens: input 3, read from the cache 0.3, written to it 3.75, output 15.
    expect(Number(promptCost)).toBeCloseTo((3 * 3 + 100 * 0.3 + 20 * 3.75) / 1e6, 12);
    expect(Number(completionCost)).toBeCloseTo((7 * 15) / 1e6, 12);
    expect(Number(totalCost)).toBeCloseTo(219 / 1e6, 12);
  });

  test("records a stream of its helper the same, with the time of the first chunk", async () => {
    const { anthropic, project } = await setUp(Exporter);
    await anthropic.messages.stream(request).finalMessage();
    const [run] = await project.readRuns(1);
    expect(run).toMatchObject({ run_type: "llm", error: null, inputs, outputs });
    expect(run?.events).toMatchObject([{ name: "new_token" }]);
    const { firstTokenTime, startTime, endTime } = await client.runs.read(run!.id);
    expect(firstTokenTime! >= startTime! && firstTokenTime! <= endTime!).toBe(true);
  });
});

test("a stream that the program reads itself has tokens, but the SDK records no text", async () => {
  const { anthropic, project } = await setUp(JsonExporter);
  const stream = await anthropic.messages.create({ ...request, stream: true });
  const types: string[] = [];
  for await (const { type } of stream) {
    types.push(type);
  }
  expect(types).toHaveLength(textEvents.length);
  const [run] = await project.readRuns(1);
  expect(run).toMatchObject({ inputs, outputs: { usage_metadata: storedUsage } });
  expect(run?.outputs).not.toHaveProperty("messages");
});

test("an error of the API is the error of the run", async () => {
  const { anthropic, project } = await setUp(JsonExporter, () => ({
    status: 529,
    body: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
  }));
  await expect(anthropic.messages.create(request)).rejects.toThrow("Overloaded");
  const [run] = await project.readRuns(1);
  expect(run).toMatchObject({ error: "overloaded_error", run_type: "llm", inputs });
});

test("a tool runner is a chain of model calls and tools with arguments and results", async () => {
  const call = {
    type: "tool_use",
    id: "c1",
    name: "weather",
    input: { city: "Paris" },
  };
  const { anthropic, project } = await setUp(JsonExporter, ({ body }) => ({
    body: body.includes("tool_result") ? answer : messageWith([call], "tool_use"),
  }));
  const weather = betaTool({
    name: "weather",
    description: "The weather in a city",
    inputSchema: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    },
    run: ({ city }) => `rain in ${city}`,
  });
  await anthropic.beta.messages.toolRunner({
    model: "claude-asked",
    max_tokens: 100,
    messages: [{ role: "user", content: "Umbrella?" }],
    tools: [weather],
  });
  const runs = await project.readRuns(4);
  const runner = runNamed(runs, "anthropic.messages.tool_runner");
  expect(runner).toMatchObject({ run_type: "chain", parent_run_id: null });
  const toolRun = runNamed(runs, "anthropic.custom_tool_use weather");
  expect(toolRun).toMatchObject({
    run_type: "tool",
    parent_run_id: runner.id,
    inputs: { city: "Paris" },
    outputs: { output: [{ type: "text", text: "rain in Paris" }] },
  });
  const calls = runs
    .filter(({ run_type: type }) => type === "llm")
    .map(({ outputs: result }) => (result as { readonly messages: unknown }).messages);
  expect(calls).toHaveLength(2);
  expect(calls).toContainEqual(outputs.messages);
  expect(calls).toContainEqual([
    {
      role: "assistant",
      content: "",
      finish_reason: "tool_use",
      tool_calls: [
        {
          id: "c1",
          type: "function",
          function: { name: "weather", arguments: '{"city":"Paris"}' },
        },
      ],
    },
  ]);
});

test("counting the tokens of a prompt is no model call", async () => {
  const { anthropic, project } = await setUp(JsonExporter, () => ({ body: { input_tokens: 9 } }));
  await anthropic.messages.countTokens({ model: "claude-asked", messages: request.messages });
  const [run] = await project.readRuns(1);
  expect(run).toMatchObject({ run_type: "chain", name: "anthropic.messages.count_tokens" });
});
