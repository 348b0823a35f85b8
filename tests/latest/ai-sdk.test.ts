import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  embed,
  generateObject,
  generateText,
  isStepCount,
  registerTelemetry,
  streamText,
  tool,
} from "ai";
import type { Telemetry, TelemetryOptions } from "ai";
import { MockEmbeddingModelV4, MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { runServer } from "../../server/tests/support/running-server.ts";
import { millraceTelemetry } from "../../src/integrations/ai-sdk/index.ts";
import {
  Client,
  currentRun,
  isInModelCall,
  RunTree,
  traceable,
  withRun,
} from "../../src/main/index.ts";
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

/** A model that generates the responses one after the other. */
function generating(
  ...responses: readonly ReturnType<typeof textResponse | typeof toolResponse>[]
) {
  const left = [...responses];
  return new MockLanguageModelV4({
    doGenerate: async () => left.shift() ?? Promise.reject(new Error("no response is left")),
  });
}

/** A model that streams the chunks of the responses one after the other. */
function streaming(delayMs: number | null, ...responses: readonly (readonly Chunk[])[]) {
  const left = [...responses];
  return new MockLanguageModelV4({
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

const telemetryOf = (client: CollectingClient | Client): { readonly integrations: Telemetry } => ({
  integrations: millraceTelemetry({ client }),
});

test("operation, steps, model calls, tool and a nested operation are one tree", async () => {
  const client = new CollectingClient();
  const telemetry = telemetryOf(client);
  const current: (string | undefined)[] = [];
  const outer = new RunTree({ client, name: "outer" });
  await withRun(outer, () =>
    generateText({
      model: generating(toolResponse(), textResponse()),
      instructions: "Be brief.",
      prompt: "How is Wien?",
      tools: {
        weather: weatherTool(async (city) => {
          current.push(currentRun()?.name);
          const { text } = await generateText({
            model: generating(textResponse("3")),
            prompt: city,
            telemetry,
          });
          current.push(currentRun()?.name);
          return { degrees: Number(text) };
        }),
      },
      stopWhen: isStepCount(5),
      telemetry: { ...telemetry, functionId: "ask" },
    }),
  );
  outer.end();
  expect(current).toEqual(["weather", "weather"]);
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
});

test("all runs below an operation have its thread and its user", async () => {
  const client = new CollectingClient();
  const note = traceable(() => 3, { name: "note", client });
  await generateText({
    model: generating(toolResponse(), textResponse()),
    prompt: "How is Wien?",
    tools: { weather: weatherTool(() => note()) },
    stopWhen: isStepCount(5),
    runtimeContext: { threadId: "t1", userId: "u1" },
    telemetry: {
      ...telemetryOf(client),
      includeRuntimeContext: { threadId: true, userId: true },
    },
  });
  const ids = client
    .starts()
    .map(({ name, metadata }) => [name, metadata?.["thread_id"], metadata?.["user_id"]]);
  expect(ids).toEqual([
    ["ai.generateText", "t1", "u1"],
    ["step 1", "t1", "u1"],
    ["ai.generateText.doGenerate", "t1", "u1"],
    ["weather", "t1", "u1"],
    ["note", "t1", "u1"],
    ["step 2", "t1", "u1"],
    ["ai.generateText.doGenerate", "t1", "u1"],
  ]);
});

test("inputs, outputs, calls of tools and tokens are recorded once", async () => {
  const client = new CollectingClient();
  await generateText({
    model: generating(toolResponse(), textResponse()),
    instructions: "Be brief.",
    prompt: "How is Wien?",
    temperature: 0.5,
    tools: { weather: weatherTool((city) => ({ city, degrees: 3 })) },
    stopWhen: isStepCount(5),
    telemetry: telemetryOf(client),
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
    stopWhen: isStepCount(5),
    telemetry: telemetryOf(client),
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
    ["new_token"],
    ["new_token"],
  ]);
  expect(calls.map(({ outputs }) => outputs)).toMatchObject([
    { usage_metadata: usageMetadata },
    { usage_metadata: usageMetadata },
  ]);
});

test("a client of a provider sees that its call is recorded already, a tool does not", async () => {
  const client = new CollectingClient();
  const seen: unknown[] = [];
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      seen.push([currentRun()?.runType, isInModelCall()]);
      return seen.length === 1 ? toolResponse() : textResponse();
    },
  });
  await generateText({
    model,
    prompt: "How is Wien?",
    tools: {
      weather: weatherTool(() => {
        seen.push([currentRun()?.runType, isInModelCall()]);
        return {};
      }),
    },
    stopWhen: isStepCount(5),
    telemetry: telemetryOf(client),
  });
  expect(seen).toEqual([
    ["llm", true],
    ["tool", false],
    ["llm", true],
  ]);
});

test("an attempt at a model call that fails is an event of its run", async () => {
  const client = new CollectingClient();
  const model = new MockLanguageModelV4({
    doGenerate: () => Promise.reject(new TypeError("connection reset")),
  });
  await expect(
    generateText({ model, prompt: "hi", maxRetries: 0, telemetry: telemetryOf(client) }),
  ).rejects.toThrow("connection reset");
  const [attempt] = client.end("ai.generateText.doGenerate").events ?? [];
  expect(attempt).toMatchObject({
    name: "attempt",
    kwargs: { error: "TypeError: connection reset" },
  });
});

test("a failing model and a failing tool fail their runs", async () => {
  const client = new CollectingClient();
  const failing = new MockLanguageModelV4({ doGenerate: () => Promise.reject(new Error("down")) });
  await expect(
    generateText({ model: failing, prompt: "hi", maxRetries: 0, telemetry: telemetryOf(client) }),
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
    stopWhen: isStepCount(5),
    telemetry: telemetryOf(other),
  });
  expect(other.end("weather").error).toContain("no weather");
  expect(other.end("ai.generateText").error).toBeUndefined();
});

test("an abort fails the runs that are open, with what was seen of the stream", async () => {
  const client = new CollectingClient();
  const controller = new AbortController();
  const { textStream } = streamText({
    model: streaming(5, textChunks(longText)),
    prompt: "hi",
    abortSignal: controller.signal,
    telemetry: telemetryOf(client),
  });
  for await (const piece of textStream) {
    if (piece === "word1 ") {
      controller.abort();
    }
  }
  await vi.waitFor(() => expect(client.ends()).toHaveLength(3));
  expect(describeTree(client)).toEqual([
    "ai.streamText (chain) failed",
    "  step 1 (chain) failed",
    "    ai.streamText.doStream (llm) failed",
  ]);
  const { error, outputs } = client.end("ai.streamText.doStream");
  expect(error).toContain("AbortError");
  expect(JSON.stringify(outputs)).toContain("word0 word1 ");
});

/** Reads two pieces of a stream, and leaves it. */
async function leaveStream(telemetry: TelemetryOptions): Promise<void> {
  const { textStream } = streamText({
    model: streaming(null, textChunks(longText)),
    prompt: "hi",
    telemetry,
  });
  for await (const piece of textStream) {
    if (piece === "word1 ") {
      break;
    }
  }
  // Until the AI SDK has read ahead as much as it does.
  await new Promise((resolve) => {
    setTimeout(resolve, 20);
  });
}

test("after a flush no run of a stream that was left is open", async () => {
  const server = await runServer();
  const client = new Client({ endpoint: server.url });
  await leaveStream(telemetryOf(client));
  await client.flush();
  const runs = await client.runs.list({ projectNames: ["default"] }).toArray();
  await client.close();
  expect(runs.map(({ name }) => name).toSorted()).toEqual([
    "ai.streamText",
    "ai.streamText.doStream",
    "step 1",
  ]);
  expect(runs.filter(({ endTime }) => endTime === undefined)).toEqual([]);
  const call = runs.find(({ runType }) => runType === "llm");
  expect(JSON.stringify(call?.outputs)).toContain("word0 word1 ");
  expect(call?.extra?.metadata).toMatchObject({ millrace_cancelled: true });
});

test("a stream that is read on after a flush is corrected", async () => {
  const server = await runServer();
  const client = new Client({ endpoint: server.url });
  const { textStream } = streamText({
    model: streaming(null, textChunks(longText)),
    prompt: "hi",
    telemetry: telemetryOf(client),
  });
  let read = "";
  for await (const piece of textStream) {
    read += piece;
    if (piece === "word1 ") {
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
      await client.flush();
    }
  }
  expect(read).toBe(longText);
  await client.flush();
  const runs = await client.runs.list({ projectNames: ["default"] }).toArray();
  expect(runs).toHaveLength(3);
  expect(runs.filter(({ endTime }) => endTime === undefined)).toEqual([]);
  expect(runs.map(({ extra }) => extra?.metadata?.["millrace_cancelled"])).toEqual([
    false,
    false,
    false,
  ]);
  expect(runs.find(({ runType }) => runType === "llm")?.outputs).toMatchObject({
    messages: [{ role: "assistant", content: longText }],
    usage_metadata: usageMetadata,
  });
  await client.close();
});

test("recordOutputs: false holds for a stream that was left", async () => {
  const client = new CollectingClient();
  await leaveStream({ ...telemetryOf(client), recordOutputs: false });
  await new Client({ enabled: false }).close();
  expect(JSON.stringify(client.records)).not.toContain("word1");
});

test("recordOutputs: false leaves out the answer, instead of recording an empty one", async () => {
  const client = new CollectingClient();
  await generateText({
    model: generating(textResponse()),
    prompt: "How is Wien?",
    telemetry: { ...telemetryOf(client), recordInputs: false, recordOutputs: false },
  });
  expect(client.end("ai.generateText").outputs).toEqual({ finish_reason: "stop" });
  expect(client.start("ai.generateText").inputs).toEqual({});
  expect(client.end("ai.generateText.doGenerate").outputs).toEqual({
    finish_reason: "stop",
    usage_metadata: usageMetadata,
  });
});

test("objects and embeddings", async () => {
  const client = new CollectingClient();
  const isOwned: boolean[] = [];
  const telemetry = telemetryOf(client);
  await generateObject({
    model: generating(textResponse('{"degrees":3}')),
    prompt: "Wien?",
    schema: z.object({ degrees: z.number() }),
    telemetry,
  });
  await embed({
    model: new MockEmbeddingModelV4({
      doEmbed: async ({ values }) => {
        isOwned.push(isInModelCall());
        return { embeddings: values.map(() => [1, 2, 3]), usage: { tokens: 4 }, warnings: [] };
      },
    }),
    value: "Wien",
    telemetry,
  });
  expect([...isOwned, isInModelCall()]).toEqual([true, false]);
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
    usage_metadata: usageMetadata,
  });
  expect(client.start("ai.embed.doEmbed").inputs).toEqual({ texts: ["Wien"] });
  expect(client.end("ai.embed.doEmbed").outputs).toEqual({
    embeddings: 1,
    dimensions: 3,
    usage_metadata: { input_tokens: 4, total_tokens: 4 },
  });
});

test("registered once, it records calls that name no telemetry", async () => {
  const client = new CollectingClient();
  registerTelemetry(millraceTelemetry({ client, tags: ["all"], metadata: { app: "shop" } }));
  await generateText({ model: generating(textResponse()), prompt: "hi" });
  expect(client.start("ai.generateText")).toMatchObject({
    tags: ["all"],
    metadata: { app: "shop" },
  });
});

test("the code of docs/ai-sdk.md for version 7 records all calls", async () => {
  const page = await readFile(new URL("../../docs/ai-sdk.md", import.meta.url), "utf8");
  const code = /```ts\n(import \{ registerTelemetry[^`]*)```/.exec(page)?.[1] ?? "";
  expect(code).toContain("registerTelemetry(millraceTelemetry())");
  // Below this folder, whose packages the program imports.
  const parent = join(import.meta.dirname, "temp");
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, "sample-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const program = join(folder, "program.mjs");
  await writeFile(
    program,
    `${code}
    import { generateText } from "ai";
    import { MockLanguageModelV4 } from "ai/test";
    import { Client } from "millrace";
    const client = new Client();
    const model = new MockLanguageModelV4({ doGenerate: async () => (${JSON.stringify(textResponse())}) });
    await generateText({ model, prompt: "hi" });
    await client.flush();
    for await (const { name } of client.runs.list({ projectNames: ["default"] })) {
      console.log(name);
    }
    await client.close();`,
  );
  const { url } = await runServer();
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    env: { ...process.env, MILLRACE_ENDPOINT: url },
  });
  expect(stdout.trim().split("\n").toSorted()).toEqual([
    "ai.generateText",
    "ai.generateText.doGenerate",
    "step 1",
  ]);
});
