import { generateText, stepCountIs, streamText, tool } from "ai-5";
import { MockLanguageModelV2, simulateReadableStream } from "ai-5/test";
import { expect, test } from "vitest";
import { z } from "zod";
import { runServer } from "../../server/tests/support/running-server.ts";
import { millraceTracer } from "../../src/integrations/ai-sdk/index.ts";
import { describeTree, longText } from "../support/ai-sdk.ts";
import { Client } from "../../src/main/index.ts";
import { CollectingClient } from "../tracing/collecting-client.ts";

// Version 5 of the AI SDK. tests/integrations/ai-sdk.test.ts has more calls, of version 6, which has the same telemetry.

const usage = {
  inputTokens: 10,
  outputTokens: 5,
  totalTokens: 15,
  cachedInputTokens: 3,
  reasoningTokens: 1,
};
/** What the telemetry of a call without a stream has: version 5 names cached and reasoning tokens only for streams. */
const usageMetadata = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };

const telemetryOf = (client: CollectingClient | Client) => ({
  isEnabled: true,
  tracer: millraceTracer({ client }),
});

test("operation, steps, model calls and tool are one tree, with content and tokens", async () => {
  const client = new CollectingClient();
  const call = { type: "tool-call", toolCallId: "call-1", toolName: "weather" } as const;
  const model = new MockLanguageModelV2({
    doGenerate: [
      {
        content: [{ ...call, input: '{"city":"Wien"}' }],
        finishReason: "tool-calls",
        usage,
        warnings: [],
      },
      {
        content: [{ type: "text", text: "It is 3 degrees." }],
        finishReason: "stop",
        usage,
        warnings: [],
      },
    ],
  });
  await generateText({
    model,
    prompt: "How is Wien?",
    tools: {
      weather: tool({
        inputSchema: z.object({ city: z.string() }),
        execute: async ({ city }) => ({ city, degrees: 3 }),
      }),
    },
    stopWhen: stepCountIs(5),
    experimental_telemetry: telemetryOf(client),
  });
  expect(describeTree(client)).toEqual([
    "ai.generateText (chain)",
    "  step 1 (chain)",
    "    ai.generateText.doGenerate (llm)",
    "    weather (tool)",
    "  step 2 (chain)",
    "    ai.generateText.doGenerate (llm)",
  ]);
  const ends = client.ends();
  expect(ends.find(({ name }) => name === "weather")?.outputs).toMatchObject({ degrees: 3 });
  const calls = ends.filter(({ runType }) => runType === "llm");
  expect(calls.map(({ outputs }) => outputs)).toMatchObject([
    { usage_metadata: usageMetadata },
    { usage_metadata: usageMetadata },
  ]);
  expect(calls[1]?.outputs).toMatchObject({
    messages: [{ role: "assistant", content: "It is 3 degrees." }],
  });
});

test("an abort ends the runs of a stream", async () => {
  const client = new CollectingClient();
  const abort = new AbortController();
  const words = longText
    .split(/(?<= )/)
    .map((delta) => ({ type: "text-delta", id: "1", delta }) as const);
  const { textStream } = streamText({
    model: new MockLanguageModelV2({
      doStream: async () => ({
        stream: simulateReadableStream({
          chunks: [
            { type: "stream-start", warnings: [] },
            { type: "text-start", id: "1" },
            ...words,
          ],
          chunkDelayInMs: 2,
        }),
      }),
    }),
    prompt: "Count.",
    abortSignal: abort.signal,
    experimental_telemetry: telemetryOf(client),
  });
  for await (const text of textStream) {
    expect(text).toContain("word");
    abort.abort();
  }
  const open = client.starts().filter(({ id }) => !client.ends().some((end) => end.id === id));
  expect(client.starts()).toHaveLength(3);
  expect(open).toEqual([]);
});

test("nothing is lost if the client is closed directly after a stream was left", async () => {
  const server = await runServer();
  const client = new Client({ endpoint: server.url });
  const { textStream } = streamText({
    model: new MockLanguageModelV2({
      doStream: async () => ({
        stream: simulateReadableStream({
          // So few that the AI SDK has read them in advance, and reports the end of the call while the client closes.
          chunks: [
            { type: "stream-start", warnings: [] },
            { type: "text-start", id: "1" },
            { type: "text-delta", id: "1", delta: "one " },
            { type: "text-delta", id: "1", delta: "two " },
            { type: "text-delta", id: "1", delta: "three" },
            { type: "text-end", id: "1" },
            { type: "finish", finishReason: "stop", usage },
          ],
        }),
      }),
    }),
    prompt: "Count.",
    experimental_telemetry: telemetryOf(client),
  });
  for await (const text of textStream) {
    if (text === "two ") {
      break;
    }
  }
  await client.close();
  const { accepted, delivered, lost } = client.stats();
  expect({ accepted, delivered, closed: lost.closed }).toEqual({
    accepted: 6,
    delivered: 6,
    closed: 0,
  });
});
