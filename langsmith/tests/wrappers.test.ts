import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { Client } from "@millrace/langsmith";
import { wrapAISDK } from "@millrace/langsmith/experimental/vercel";
import { traceable } from "@millrace/langsmith/traceable";
import { wrapOpenAI, wrapSDK } from "@millrace/langsmith/wrappers";
import { wrapAnthropic } from "@millrace/langsmith/wrappers/anthropic";
import { wrapGemini } from "@millrace/langsmith/wrappers/gemini";
import { OpenAIAgentsTracingProcessor } from "@millrace/langsmith/wrappers/openai_agents";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import * as ai from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { Client as MillraceClient } from "millrace";
import type { Run } from "millrace";
import { OpenAI } from "openai";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { textResponse } from "../../tests/support/ai-sdk.ts";
import { messageText, replyAsAnthropic } from "../../tests/support/anthropic-replies.ts";
import { startModelApi } from "../../tests/support/fake-model-api.ts";
import { answerText, replyAsOpenAi } from "../../tests/support/openai-replies.ts";

let server: RunningServer;
let reader: MillraceClient;

beforeAll(async () => {
  server = await startServer({ port: 0, dataDir: ":memory:" });
  reader = new MillraceClient({ endpoint: server.url });
});

afterAll(async () => {
  await reader.close();
  await server.close();
});

const messages = [{ role: "user" as const, content: "Where is the horse?" }];

/** A client whose runs are in a project of their own, and the runs, read when all have ended. */
function openProject(): {
  readonly client: Client;
  readonly readRuns: () => Promise<readonly Run[]>;
} {
  const project = crypto.randomUUID();
  vi.stubEnv("LANGSMITH_PROJECT", project);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const client = new Client({ apiUrl: server.url });
  onTestFinished(async () => void (await client.millrace.close()));
  return {
    client,
    readRuns: async () => {
      await client.flush();
      return reader.runs.list({ projectNames: [project], order: "asc" }).toArray();
    },
  };
}

test("calls of a wrapped OpenAI client are below the current run, with langsmithExtra", async () => {
  const api = await startModelApi(replyAsOpenAi);
  const { client, readRuns } = openProject();
  const bare = new OpenAI({ baseURL: api.url, apiKey: "secret-key", maxRetries: 0 });
  const openai = wrapOpenAI(bare, {
    client,
    tracingEnabled: true,
    metadata: { team: "a" },
    tags: ["all"],
  });
  expect(openai).toBe(bare);
  expect(openai).toBeInstanceOf(OpenAI);
  const ask = traceable(
    async () => {
      const { choices } = await openai.chat.completions.create(
        { model: "gpt-test", messages },
        { langsmithExtra: { name: "first", metadata: { turn: 1 }, tags: ["one"] } },
      );
      let streamed = "";
      const stream = await openai.chat.completions.create({
        model: "gpt-test",
        messages,
        stream: true,
      });
      for await (const chunk of stream) {
        streamed += chunk.choices[0]?.delta.content ?? "";
      }
      return [choices[0]?.message.content, streamed];
    },
    { name: "ask", client, tracingEnabled: true },
  );
  expect(await ask()).toEqual([answerText, answerText]);
  const [root, ...calls] = await readRuns();
  expect(calls.map(({ parentRunId, runType }) => [parentRunId, runType])).toEqual([
    [root?.id, "llm"],
    [root?.id, "llm"],
  ]);
  expect(calls[0]).toMatchObject({
    name: "first",
    tags: ["all", "one"],
    extra: { metadata: { team: "a", turn: 1 } },
  });
  expect(calls[1]).toMatchObject({ tags: ["all"], extra: { metadata: { team: "a" } } });
  // The option of ours is not sent to the API.
  expect(api.requests.map(({ text }) => text.includes("langsmith"))).toEqual([false, false]);
});

test("a wrapped client keeps withResponse, withOptions and the helpers, and may be wrapped twice", async () => {
  const api = await startModelApi(replyAsOpenAi);
  const { client, readRuns } = openProject();
  const options = { client, tracingEnabled: true };
  const bare = new OpenAI({ baseURL: api.url, apiKey: "none", maxRetries: 0 });
  const openai = wrapOpenAI(wrapOpenAI(bare, options), options);
  const { data, response } = await bare.chat.completions
    .create({ model: "gpt-test", messages })
    .withResponse();
  expect([data.choices.length, response.status]).toEqual([1, 200]);
  await openai
    .withOptions({ timeout: 1_000 })
    .chat.completions.create({ model: "gpt-test", messages });
  expect(await readRuns()).toHaveLength(2);
});

test("without LANGSMITH_TRACING=true a wrapped client records nothing, and still accepts langsmithExtra", async () => {
  const api = await startModelApi(replyAsOpenAi);
  const { client, readRuns } = openProject();
  const openai = wrapOpenAI(new OpenAI({ baseURL: api.url, apiKey: "none" }), { client });
  await openai.chat.completions.create(
    { model: "gpt-test", messages },
    { langsmithExtra: { name: "first" } },
  );
  await expect(readRuns()).rejects.toThrow("not found");
  expect(api.requests).toHaveLength(1);
});

test("calls of a wrapped Anthropic client are recorded", async () => {
  const api = await startModelApi(replyAsAnthropic);
  const { client, readRuns } = openProject();
  const anthropic = wrapAnthropic(
    new Anthropic({ baseURL: api.url, apiKey: "none", maxRetries: 0 }),
    {
      client,
      tracingEnabled: true,
      name: "claude",
    },
  );
  const body = { model: "claude-test", max_tokens: 9, messages };
  const message = await anthropic.messages.create(body, { langsmithExtra: { tags: ["extra"] } });
  expect(JSON.stringify(message.content)).toContain(messageText);
  const final = await anthropic.messages.stream(body).finalMessage();
  expect(JSON.stringify(final.content)).toContain(messageText);
  const runs = await readRuns();
  expect(runs.map(({ name, runType, tags }) => [name, runType, tags ?? []])).toEqual([
    ["claude", "llm", ["extra"]],
    ["claude", "llm", []],
  ]);
});

test("calls of a wrapped Gemini client, and of its chats, are recorded", async () => {
  const api = await startModelApi(() => ({
    body: { candidates: [{ content: { role: "model", parts: [{ text: "Here." }] }, index: 0 }] },
  }));
  const { client, readRuns } = openProject();
  const bare = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: api.url } });
  const gemini = wrapGemini(bare, { client, tracingEnabled: true, tags: ["g"] });
  expect(gemini).toBe(bare);
  const request = { model: "gemini-test", contents: "Where is the horse?" };
  expect((await gemini.models.generateContent(request)).text).toBe("Here.");
  const chat = gemini.chats.create({ model: "gemini-test" });
  expect((await chat.sendMessage({ message: "And now?" })).text).toBe("Here.");
  const runs = await readRuns();
  expect(runs.map(({ runType }) => runType)).toEqual(["llm", "llm"]);
  expect(runs[0]).toMatchObject({ tags: ["g"] });
});

test("what is no client of the library is refused", () => {
  const models = { generateContent: async () => ({}), generateContentStream: async () => ({}) };
  expect(() => wrapGemini({ models }, { tracingEnabled: true })).toThrow(
    "wrapGemini expects a client such as new GoogleGenAI",
  );
  const completions = { create: async () => ({}) };
  expect(() =>
    wrapOpenAI({ chat: { completions }, completions }, { tracingEnabled: true }),
  ).toThrow("wrapOpenAI expects a client such as new OpenAI()");
});

test("the functions of a wrapped AI SDK are recorded, with the calls of its models", async () => {
  const { client, readRuns } = openProject();
  const { generateText, jsonSchema } = wrapAISDK(ai, {
    client,
    tracingEnabled: true,
    name: "forecast",
    tags: ["sdk"],
  });
  expect(jsonSchema).toBe(ai.jsonSchema);
  const model = new MockLanguageModelV3({ doGenerate: async () => textResponse("Rain.") });
  const { text } = await generateText({ model, prompt: "Will it rain?" });
  expect(text).toBe("Rain.");
  const runs = await readRuns();
  expect(runs[0]).toMatchObject({ name: "ai.generateText forecast", tags: ["sdk"] });
  expect(runs.map(({ runType }) => runType)).toContain("llm");
});

test("an option that a wrapper can't use causes a warning", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  const { client } = openProject();
  wrapAISDK(ai, { client, traceRawHttp: true });
  const processor = new OpenAIAgentsTracingProcessor({ client, name: "agents" });
  expect(typeof processor.onSpanStart).toBe("function");
  expect(warn.mock.calls.flat()).toEqual([
    expect.stringContaining("The option traceRawHttp of wrapAISDK has no effect"),
    expect.stringContaining("OpenAIAgentsTracingProcessor have no effect"),
  ]);
});

test("wrapSDK records each method, also of objects within, with its path", async () => {
  const { client, readRuns } = openProject();
  const sdk = wrapSDK(
    { inner: { add: async (left: number, right: number) => left + right }, version: "1" },
    { name: "calculator", client, tracingEnabled: true },
  );
  expect([sdk.version, await sdk.inner.add(1, 2)]).toEqual(["1", 3]);
  expect(await readRuns()).toMatchObject([
    {
      name: "calculator.inner.add",
      runType: "llm",
      inputs: { args: [1, 2] },
      outputs: { outputs: 3 },
    },
  ]);
});
