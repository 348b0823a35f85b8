import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { Client, RunTree } from "@millrace/langsmith";
import { evaluate } from "@millrace/langsmith/evaluation";
import { LangSmithTelemetry, wrapAISDK } from "@millrace/langsmith/experimental/vercel";
import type { Example } from "@millrace/langsmith/schemas";
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
import type { MillraceTelemetry } from "millrace/ai-sdk";
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
  const openai = new OpenAI({ apiKey: "none" });
  const named = { client, tracingEnabled: true, runName: "ask" };
  expect(wrapOpenAI(openai, named)).toBe(openai);
  expect(warn.mock.calls.flat()).toEqual([
    expect.stringContaining("The option traceRawHttp of wrapAISDK has no effect"),
    expect.stringContaining("OpenAIAgentsTracingProcessor have no effect"),
    expect.stringContaining("The option runName of wrapOpenAI has no effect. Known: client, name,"),
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

/** A client that hides inputs, and one of the environment, each with what its project holds. */
function openHidingProject() {
  const { client: environment, readRuns } = openProject();
  vi.stubEnv("LANGSMITH_TRACING", "true");
  const hiding = new Client({ apiUrl: server.url, hideInputs: true });
  onTestFinished(async () => void (await hiding.millrace.close()));
  return {
    environment,
    hiding,
    readRuns: async () => {
      await hiding.flush();
      return readRuns();
    },
  };
}

/** Calls a function in a traced function whose client hides inputs, and expects that all runs hide them. */
async function expectHidden(
  ask: () => Promise<unknown>,
  { hiding, readRuns }: ReturnType<typeof openHidingProject>,
): Promise<void> {
  await traceable(ask, { name: "outer", client: hiding })();
  const runs = await readRuns();
  const [outer, ...calls] = runs;
  expect(outer?.name).toBe("outer");
  expect(calls.length).toBeGreaterThan(0);
  expect(new Set(runs.map(({ traceId }) => traceId)).size).toBe(1);
  expect(runs.map(({ inputs }) => inputs)).toEqual(runs.map(() => ({})));
}

test.each(["no client", "another client"])(
  "wrapped with %s, model calls are recorded by the client of the current run",
  async (given) => {
    const openAi = await startModelApi(replyAsOpenAi);
    const claude = await startModelApi(replyAsAnthropic);
    const google = await startModelApi(() => ({
      body: { candidates: [{ content: { role: "model", parts: [{ text: "Here." }] }, index: 0 }] },
    }));
    const project = openHidingProject();
    const options = given === "no client" ? {} : { client: project.environment };
    const openai = wrapOpenAI(
      new OpenAI({ baseURL: openAi.url, apiKey: "none", maxRetries: 0 }),
      options,
    );
    const anthropic = wrapAnthropic(
      new Anthropic({ baseURL: claude.url, apiKey: "none", maxRetries: 0 }),
      options,
    );
    const gemini = wrapGemini(
      new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: google.url } }),
      options,
    );
    const sdk = wrapSDK({ ask: async (question: string) => question }, options);
    const { generateText } = wrapAISDK(ai, options);
    const model = new MockLanguageModelV3({ doGenerate: async () => textResponse("Rain.") });
    await expectHidden(async () => {
      await openai.chat.completions.create({ model: "gpt-test", messages });
      await anthropic.messages.create({ model: "claude-test", max_tokens: 9, messages });
      await gemini.models.generateContent({ model: "gemini-test", contents: "Where?" });
      await sdk.ask("Where?");
      await generateText({ model, prompt: "Will it rain?" });
    }, project);
  },
);

test("telemetry without a client is recorded by the client of the current run", async () => {
  const project = openHidingProject();
  const telemetry = LangSmithTelemetry() as MillraceTelemetry;
  await expectHidden(async () => {
    telemetry.onStart({ callId: "1", operationId: "ai.generateText", prompt: "Will it rain?" });
    telemetry.onEnd({ callId: "1", text: "Rain." });
  }, project);
});

test("a processor of the Agents SDK without a client records with the client of the current run", async () => {
  const project = openHidingProject();
  const processor = new OpenAIAgentsTracingProcessor();
  onTestFinished(() => processor.shutdown());
  const trace = { traceId: "trace_1", name: "agents", groupId: null, metadata: {} };
  await expectHidden(async () => {
    await processor.onTraceStart(trace);
    await processor.onTraceEnd(trace);
  }, project);
});

test("outside of runs, model calls are recorded by the client of the environment", async () => {
  const api = await startModelApi(replyAsOpenAi);
  const { readRuns } = openHidingProject();
  vi.stubEnv("LANGSMITH_ENDPOINT", server.url);
  const openai = wrapOpenAI(new OpenAI({ baseURL: api.url, apiKey: "none", maxRetries: 0 }));
  await openai.chat.completions.create({ model: "gpt-test", messages });
  await RunTree.getSharedClient().flush();
  expect(await readRuns()).toMatchObject([{ runType: "llm", inputs: { messages } }]);
});

test("model calls of the target of evaluate are recorded by the client of the evaluation", async () => {
  const api = await startModelApi(replyAsOpenAi);
  const { hiding } = openHidingProject();
  vi.spyOn(console, "log").mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  const openai = wrapOpenAI(new OpenAI({ baseURL: api.url, apiKey: "none", maxRetries: 0 }));
  const examples = [{ id: crypto.randomUUID(), inputs: { n: 1 } }] as unknown as Example[];
  const { experimentName } = await evaluate(
    async () => openai.chat.completions.create({ model: "gpt-test", messages }),
    { data: examples, client: hiding },
  );
  await hiding.flush();
  const runs = await reader.runs.list({ projectNames: [experimentName] }).toArray();
  expect(runs.filter(({ runType }) => runType === "llm")).toMatchObject([{ inputs: {} }]);
});

test("in a function that is not traced, model calls are not recorded either", async () => {
  const api = await startModelApi(replyAsOpenAi);
  const { client, readRuns } = openProject();
  vi.stubEnv("LANGSMITH_TRACING", "true");
  const openai = wrapOpenAI(new OpenAI({ baseURL: api.url, apiKey: "none", maxRetries: 0 }), {
    client,
  });
  const ask = traceable(
    async () => openai.chat.completions.create({ model: "gpt-test", messages }),
    { name: "off", client, tracingEnabled: false },
  );
  await ask();
  await expect(readRuns()).rejects.toThrow("not found");
  expect(api.requests).toHaveLength(1);
});
