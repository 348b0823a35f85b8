import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { embed, generateObject, generateText, stepCountIs, streamText, tool } from "ai";
import type { TelemetrySettings } from "ai";
import { MockEmbeddingModelV3, MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { runServer } from "../../server/tests/support/running-server.ts";
import { millraceTracer } from "../../src/integrations/ai-sdk/index.ts";
import type { TracerOptions } from "../../src/integrations/ai-sdk/index.ts";
import { tracedFetch } from "../../src/integrations/fetch/index.ts";
import { OpenOperations } from "../../src/integrations/ai-sdk/open-operations.ts";
import { toUsageMetadata } from "../../src/integrations/ai-sdk/usage.ts";
import {
  Client,
  currentRun,
  isInModelCall,
  RunTree,
  traceable,
  withRun,
} from "../../src/main/index.ts";
import { notifyFlush } from "../../src/tracing/runs/flush-listeners.ts";
import { CollectingClient } from "../tracing/collecting-client.ts";
import {
  describeTree,
  longText,
  textChunks,
  textResponse,
  toolChunks,
  toolResponse,
  usageMetadata,
} from "../support/ai-sdk.ts";
import type { Chunk } from "../support/ai-sdk.ts";

// Version 6 of the AI SDK. tests/latest/ai-sdk.test.ts has the same calls of version 7, with the same runs.

function generating(
  ...responses: readonly ReturnType<typeof textResponse | typeof toolResponse>[]
) {
  const left = [...responses];
  return new MockLanguageModelV3({
    doGenerate: async () => left.shift() ?? Promise.reject(new Error("no response is left")),
  });
}

function streaming(delayMs: number | null, ...responses: readonly (readonly Chunk[])[]) {
  const left = [...responses];
  return new MockLanguageModelV3({
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [...(left.shift() ?? [])],
        initialDelayInMs: delayMs,
        chunkDelayInMs: delayMs,
      }),
    }),
  });
}

const weatherTool = (execute: (city: string) => unknown) =>
  tool({
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => execute(city),
  });

const telemetryOf = (
  client: CollectingClient,
  options: TracerOptions = {},
): TelemetrySettings & { readonly isEnabled: true } => ({
  isEnabled: true,
  tracer: millraceTracer({ client, ...options }),
});

test("operation, steps, model calls, tool and a nested operation are one tree", async () => {
  const client = new CollectingClient();
  const telemetry = telemetryOf(client);
  const current: unknown[] = [];
  const outer = new RunTree({ client, name: "outer" });
  await withRun(outer, () =>
    generateText({
      model: generating(toolResponse(), textResponse()),
      system: "Be brief.",
      prompt: "How is Wien?",
      tools: {
        weather: weatherTool(async (city) => {
          current.push(currentRun()?.name, isInModelCall());
          const { text } = await generateText({
            model: generating(textResponse("3")),
            prompt: city,
            experimental_telemetry: telemetry,
          });
          return { degrees: Number(text) };
        }),
      },
      stopWhen: stepCountIs(5),
      experimental_telemetry: { ...telemetry, functionId: "ask", metadata: { threadId: "t1" } },
    }),
  );
  outer.end();
  expect(current).toEqual(["weather", false]);
  expect(describeTree(client)).toEqual([
    "outer (chain)",
    "  ai.generateText ask (chain)",
    "    step 1 (chain)",
    "      ai.generateText.doGenerate ask (llm)",
    "      weather (tool)",
    "        ai.generateText (chain)",
    "          step 1 (chain)",
    "            ai.generateText.doGenerate (llm)",
    "    step 2 (chain)",
    "      ai.generateText.doGenerate ask (llm)",
  ]);
  expect(client.start("ai.generateText ask").metadata).toMatchObject({ thread_id: "t1" });
});

test("all runs below an operation have its thread and its user, unless they have their own", async () => {
  const client = new CollectingClient();
  const note = traceable(() => 3, { name: "note", userId: "u2", client });
  await withRun(new RunTree({ client, name: "outer", threadId: "t0", userId: "u0" }), () =>
    generateText({
      model: generating(toolResponse(), textResponse()),
      prompt: "How is Wien?",
      tools: { weather: weatherTool(() => note()) },
      stopWhen: stepCountIs(5),
      experimental_telemetry: {
        ...telemetryOf(client),
        metadata: { threadId: "t1", userId: "u1" },
      },
    }),
  );
  const ids = client
    .starts()
    .map(({ name, metadata }) => [name, metadata?.["thread_id"], metadata?.["user_id"]]);
  expect(ids).toEqual([
    ["outer", "t0", "u0"],
    ["ai.generateText", "t1", "u1"],
    ["step 1", "t1", "u1"],
    ["ai.generateText.doGenerate", "t1", "u1"],
    ["weather", "t1", "u1"],
    ["note", "t1", "u2"],
    ["step 2", "t1", "u1"],
    ["ai.generateText.doGenerate", "t1", "u1"],
  ]);
});

test("inputs, outputs, calls of tools and tokens are recorded once", async () => {
  const client = new CollectingClient();
  await generateText({
    model: generating(toolResponse(), textResponse()),
    system: "Be brief.",
    prompt: "How is Wien?",
    temperature: 0.5,
    tools: { weather: weatherTool((city) => ({ city, degrees: 3 })) },
    stopWhen: stepCountIs(5),
    experimental_telemetry: telemetryOf(client),
  });
  const starts = client.starts().filter(({ runType }) => runType === "llm");
  const ends = client.ends().filter(({ runType }) => runType === "llm");
  const call = {
    id: "call-1",
    type: "function",
    function: { name: "weather", arguments: '{"city":"Wien"}' },
  };
  const asked = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "How is Wien?" },
  ];
  const calling = { role: "assistant", content: "Let me see.", tool_calls: [call] };
  expect(starts[0]?.inputs).toMatchObject({
    messages: asked,
    tools: [{ type: "function", name: "weather" }],
    tool_choice: "auto",
  });
  expect(starts[1]?.inputs).toMatchObject({
    messages: [
      ...asked,
      calling,
      {
        role: "tool",
        tool_call_id: "call-1",
        name: "weather",
        content: { city: "Wien", degrees: 3 },
      },
    ],
  });
  expect(starts[0]?.metadata).toMatchObject({
    ls_provider: "mock-provider",
    ls_model_name: "mock-model-id",
    ls_model_type: "chat",
    ls_temperature: 0.5,
  });
  const answer = { role: "assistant", content: "It is 3 degrees." };
  expect(ends.map(({ outputs }) => outputs)).toEqual([
    { messages: [calling], finish_reason: "tool-calls", usage_metadata: usageMetadata },
    { messages: [answer], finish_reason: "stop", usage_metadata: usageMetadata },
  ]);
  expect(client.start("weather").inputs).toEqual({ city: "Wien" });
  expect(client.end("weather").outputs).toEqual({ city: "Wien", degrees: 3 });
  expect(client.start("ai.generateText").inputs).toEqual({ messages: asked });
  expect(client.end("ai.generateText").outputs).toEqual({
    messages: [answer],
    finish_reason: "stop",
  });
});

test("a stream gives the same tree, and the time of its first output", async () => {
  const client = new CollectingClient();
  const { textStream } = streamText({
    model: streaming(1, toolChunks(), textChunks()),
    prompt: "How is Wien?",
    tools: { weather: weatherTool(() => ({ run: currentRun()?.name })) },
    stopWhen: stepCountIs(5),
    experimental_telemetry: telemetryOf(client),
  });
  const pieces: string[] = [];
  for await (const piece of textStream) {
    pieces.push(piece);
  }
  expect(pieces.join("")).toBe("Let me see.It is 3 degrees.");
  await vi.waitFor(() => expect(client.ends()).toHaveLength(6));
  expect(describeTree(client)).toEqual([
    "ai.streamText (chain)",
    "  step 1 (chain)",
    "    ai.streamText.doStream (llm)",
    "    weather (tool)",
    "  step 2 (chain)",
    "    ai.streamText.doStream (llm)",
  ]);
  expect(client.end("weather").outputs).toEqual({ run: "weather" });
  const calls = client.ends().filter(({ runType }) => runType === "llm");
  expect(calls.map(({ events }) => events?.map(({ name }) => name))).toEqual([
    ["new_token", "ai.stream.finish"],
    ["new_token", "ai.stream.finish"],
  ]);
  expect(calls.map(({ outputs }) => outputs)).toMatchObject([
    { usage_metadata: usageMetadata },
    { usage_metadata: usageMetadata },
  ]);
});

test("a provider's client sees that its call is recorded already", async () => {
  const client = new CollectingClient();
  const seen: unknown[] = [];
  await generateText({
    model: new MockLanguageModelV3({
      doGenerate: async () => {
        seen.push(currentRun()?.runType, isInModelCall());
        return textResponse();
      },
    }),
    prompt: "hi",
    experimental_telemetry: telemetryOf(client),
  });
  expect(seen).toEqual(["llm", true]);
});

test("a traced fetch below the model records nothing, one in a tool does", async () => {
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json").end("{}");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.close();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { url } = await runServer();
  const client = new Client({ endpoint: url });
  const send = tracedFetch(undefined, { client });
  const callApi = async (): Promise<void> => {
    const address = `http://127.0.0.1:${port}/v1/chat/completions`;
    const response = await send(address, { method: "POST", body: '{"model":"m","messages":[]}' });
    await response.text();
  };
  const left = [toolResponse(), textResponse()];
  await generateText({
    model: new MockLanguageModelV3({
      doGenerate: async () => {
        await callApi();
        return left.shift() ?? textResponse();
      },
    }),
    prompt: "hi",
    tools: { weather: weatherTool(callApi) },
    stopWhen: stepCountIs(5),
    experimental_telemetry: { isEnabled: true, tracer: millraceTracer({ client }) },
  });
  await client.flush();
  const runs = await client.runs.list({ projectNames: ["default"] }).toArray();
  await client.close();
  const toolRun = runs.find(({ name }) => name === "weather");
  expect(runs).toHaveLength(7);
  expect(runs.filter(({ parentRunId }) => parentRunId === toolRun?.id)).toHaveLength(1);
});

test("a failing model and a failing tool fail their runs", async () => {
  const client = new CollectingClient();
  const failing = new MockLanguageModelV3({ doGenerate: () => Promise.reject(new Error("down")) });
  await expect(
    generateText({
      model: failing,
      prompt: "hi",
      maxRetries: 0,
      experimental_telemetry: telemetryOf(client),
    }),
  ).rejects.toThrow("down");
  expect(describeTree(client)).toEqual([
    "ai.generateText (chain) failed",
    "  step 1 (chain) failed",
    "    ai.generateText.doGenerate (llm) failed",
  ]);
  expect(client.end("ai.generateText.doGenerate").error).toContain("Error: down");
  const other = new CollectingClient();
  await generateText({
    model: generating(toolResponse(), textResponse()),
    prompt: "hi",
    tools: {
      weather: weatherTool(() => {
        throw new Error("no weather");
      }),
    },
    stopWhen: stepCountIs(5),
    experimental_telemetry: telemetryOf(other),
  });
  expect(other.end("weather").error).toContain("no weather");
  expect(other.end("ai.generateText").error).toBeUndefined();
});

test("an abort ends the runs that are open, with the text that was seen if the program allows it", async () => {
  for (const partialOutputs of [true, false]) {
    const client = new CollectingClient();
    const controller = new AbortController();
    const { textStream } = streamText({
      model: streaming(5, textChunks(longText)),
      prompt: "hi",
      abortSignal: controller.signal,
      experimental_telemetry: telemetryOf(client, { partialOutputs }),
    });
    for await (const piece of textStream) {
      if (piece === "word1 ") {
        controller.abort();
      }
    }
    await vi.waitFor(() => expect(client.ends()).toHaveLength(3));
    expect(describeTree(client)).toEqual([
      "ai.streamText (chain) canceled",
      "  step 1 (chain) canceled",
      "    ai.streamText.doStream (llm) canceled",
    ]);
    const { outputs } = client.end("ai.streamText.doStream");
    expect(JSON.stringify(outputs ?? {}).includes("word0 word1 ")).toBe(partialOutputs);
  }
});

test.each([
  ["was read in advance", null],
  ["is still being read in advance", 20],
])("a flush ends a stream that was left, and that %s", async (_, delayMs) => {
  const client = new CollectingClient();
  const { textStream } = streamText({
    model: streaming(delayMs, textChunks(longText)),
    prompt: "hi",
    experimental_telemetry: telemetryOf(client),
  });
  for await (const piece of textStream) {
    expect(piece).toBe("word0 ");
    break;
  }
  await new Promise((resolve) => {
    setTimeout(resolve, 10);
  });
  notifyFlush({ client: new CollectingClient(), isFinal: true });
  expect(client.ends()).toHaveLength(0);
  notifyFlush({ client, isFinal: false });
  expect(describeTree(client)).toEqual([
    "ai.streamText (chain) canceled",
    "  step 1 (chain) canceled",
    "    ai.streamText.doStream (llm) canceled",
  ]);
});

/** Reads a stream to its end. While it waits for a tool, a flush begins, and after it a final one, of all clients or of `client`. */
async function readWhileFlushing(client: CollectingClient, finalFor: CollectingClient | undefined) {
  const seen: unknown[] = [];
  const { textStream } = streamText({
    model: streaming(null, toolChunks(), textChunks()),
    prompt: "hi",
    tools: {
      weather: weatherTool(async () => {
        await Promise.resolve();
        notifyFlush({ client, isFinal: false });
        seen.push(client.ends().map(({ name }) => name));
        notifyFlush({ client: finalFor, isFinal: true });
        seen.push(client.ends().map(({ name }) => name));
        return {};
      }),
    },
    stopWhen: stepCountIs(5),
    experimental_telemetry: telemetryOf(client),
  });
  for await (const piece of textStream) {
    expect(piece).toEqual(expect.any(String));
  }
  expect(seen).toEqual([[], ["weather", "ai.streamText.doStream", "step 1", "ai.streamText"]]);
}

test("a flush leaves a stream open that waits for a tool, the end of the process does not", async () => {
  const client = new CollectingClient();
  await readWhileFlushing(client, undefined);
  // The runs that ended too early are corrected, and the second step is recorded.
  expect(client.updated.map(({ extra }) => extra?.metadata)).toMatchObject(
    Array.from({ length: 4 }, () => ({ millrace_cancelled: false })),
  );
  expect(client.ends()).toHaveLength(6);
});

test("a close ends a stream that waits for a tool, and nothing corrects it later", async () => {
  const client = new CollectingClient();
  await readWhileFlushing(client, client);
  expect(client.updated).toEqual([]);
});

test("objects and embeddings", async () => {
  const client = new CollectingClient();
  await generateObject({
    model: generating(textResponse('{"degrees":3}')),
    prompt: "Wien?",
    schema: z.object({ degrees: z.number() }),
    experimental_telemetry: telemetryOf(client),
  });
  await embed({
    model: new MockEmbeddingModelV3({
      doEmbed: async ({ values }) => ({
        embeddings: values.map(() => [1, 2, 3]),
        usage: { tokens: 4 },
        warnings: [],
      }),
    }),
    value: "Wien",
    experimental_telemetry: telemetryOf(client),
  });
  expect(describeTree(client)).toEqual([
    "ai.generateObject (chain)",
    "  step 1 (chain)",
    "    ai.generateObject.doGenerate (llm)",
    "ai.embed (chain)",
    "  ai.embed.doEmbed (embedding)",
  ]);
  expect(client.end("ai.generateObject").outputs).toMatchObject({ object: { degrees: 3 } });
  expect(client.end("ai.generateObject.doGenerate").outputs).toMatchObject({
    messages: [{ role: "assistant", content: '{"degrees":3}' }],
    // Version 6 reports no details of the tokens of an object.
    usage_metadata: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  });
  expect(client.start("ai.embed.doEmbed").inputs).toEqual({ texts: ["Wien"] });
  expect(client.end("ai.embed.doEmbed").outputs).toEqual({
    embeddings: 1,
    dimensions: 3,
    usage_metadata: { input_tokens: 4, total_tokens: 4 },
  });
});

test("recordInputs and recordOutputs: false leave the payloads out", async () => {
  const client = new CollectingClient();
  await generateText({
    model: generating(toolResponse(), textResponse()),
    prompt: "How is Wien?",
    tools: { weather: weatherTool((city) => ({ city, degrees: 3 })) },
    stopWhen: stepCountIs(5),
    experimental_telemetry: { ...telemetryOf(client), recordInputs: false, recordOutputs: false },
  });
  expect(JSON.stringify(client.records)).not.toContain("Wien");
  expect(JSON.stringify(client.records)).not.toContain("degrees");
});

test("the cached tokens of version 5 become part of the input tokens", () => {
  const anthropic = {
    usage: { input_tokens: 6, cache_read_input_tokens: 3, cache_creation_input_tokens: 1 },
  };
  const flat = { inputTokens: 6, outputTokens: 5, totalTokens: 11, cachedInputTokens: 3 };
  expect(toUsageMetadata(flat, { anthropic })).toEqual({
    input_tokens: 10,
    output_tokens: 5,
    total_tokens: 15,
    input_token_details: { cache_read: 3, cache_creation: 1 },
  });
  expect(toUsageMetadata({ inputTokens: 10, outputTokens: 5, cachedInputTokens: 3 })).toEqual({
    input_tokens: 10,
    output_tokens: 5,
    total_tokens: 15,
    input_token_details: { cache_read: 3 },
  });
  expect(toUsageMetadata("nonsense")).toBeUndefined();
});

test("a span whose attributes throw when they are read is still a run, and the program goes on", () => {
  const client = new CollectingClient();
  const hostile = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error("hostile");
      },
      get: () => {
        throw new Error("hostile");
      },
    },
  );
  const tracer = millraceTracer({ client });
  const result = tracer.startActiveSpan("ai.generateText", { attributes: hostile }, (span) => {
    span.setAttributes(hostile).setStatus({ code: 2, message: "failed" }).end();
    span.end();
    return "result";
  });
  expect(result).toBe("result");
  expect(client.end("ai.generateText")).toMatchObject({
    metadata: { millrace_error: "The span could not be read: hostile" },
  });
  expect(client.end("ai.generateText").error).toContain("failed");
});

test("an operation that is idle twice in a row is assumed to be left", () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const operations = new OpenOperations();
  const run = new RunTree({ client: new CollectingClient() });
  const assumed: string[] = [];
  const create = (name: string, isIdle: boolean) => ({
    run,
    isIdle,
    mayBeAbandoned: isIdle,
    assumeEnd: () => {
      assumed.push(name);
    },
  });
  const [idle, busy] = [create("idle", true), create("busy", false)];
  operations.add(idle);
  operations.add(busy);
  vi.advanceTimersByTime(9_000);
  expect(assumed).toEqual([]);
  vi.advanceTimersByTime(2_000);
  expect(assumed).toEqual(["idle"]);
  operations.delete(busy);
  vi.advanceTimersByTime(5_000);
  expect(vi.getTimerCount()).toBe(0);
});
