import { describe, expect, test } from "vitest";
import { mapped } from "../../../tests/support/otlp-spans.ts";

type Members = Readonly<Record<string, unknown>>;

const runOf = (operation: string, attributes: object = {}): Members =>
  mapped({ attributes: { "ai.operationId": operation, ...attributes } });
const metadataOf = (run: Members): Members => (run["extra"] as { metadata: Members }).metadata;
const warningsOf = (run: Members): unknown => metadataOf(run)["otel.warnings"];

test.each([
  ["ai.generateText", "chain"],
  ["ai.streamObject", "chain"],
  ["ai.embedMany", "chain"],
  ["ai.rerank", "chain"],
  ["ai.generateText.doGenerate", "llm"],
  ["ai.generateObject.doGenerate", "llm"],
  ["ai.streamText.doStream", "llm"],
  ["ai.streamObject.doStream", "llm"],
  ["ai.embed.doEmbed", "embedding"],
  ["ai.rerank.doRerank", "retriever"],
  ["ai.toolCall", "tool"],
  ["ai.somethingNew", "chain"],
])("the operation %s has the run type %s", (operation, runType) => {
  // The outer operation names its model too, but does not call it.
  expect(runOf(operation, { "gen_ai.request.model": "m" })["run_type"]).toBe(runType);
});

test("the name is the operation with the function's id, or that of the tool", () => {
  const name = { "operation.name": "ai.generateText forecast" };
  expect(runOf("ai.generateText", name)["name"]).toBe("ai.generateText forecast");
  expect(runOf("ai.generateText")["name"]).toBe("span 1");
  const tool = { "operation.name": "ai.toolCall forecast", "ai.toolCall.name": "weather" };
  expect(runOf("ai.toolCall", tool)["name"]).toBe("weather");
  expect(mapped({ attributes: name })["name"]).toBe("span 1");
});

describe("the prompt", () => {
  const messagesOf = (prompt: unknown): unknown =>
    (runOf("ai.generateText", { "ai.prompt": JSON.stringify(prompt) })["inputs"] as Members)[
      "messages"
    ];
  const user = { role: "user", content: "hi" };

  test.each([
    [{ prompt: "hi" }, [user]],
    [{ prompt: [user] }, [user]],
    [{ messages: [user] }, [user]],
    [{ system: "Be brief.", prompt: "hi" }, [{ role: "system", content: "Be brief." }, user]],
    [
      {
        system: [
          { role: "system", content: "a" },
          { role: "system", content: "b" },
        ],
        prompt: "hi",
      },
      [{ role: "system", content: "a" }, { role: "system", content: "b" }, user],
    ],
  ])("%j is a list of messages", (prompt, messages) => {
    expect(messagesOf(prompt)).toEqual(messages);
  });

  test("has tool calls and results of versions 4 to 6 in one form", () => {
    const call = { type: "tool-call", toolCallId: "c", toolName: "weather" };
    const result = { type: "tool-result", toolCallId: "c", toolName: "weather" };
    const expected = [
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "c", type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      { role: "tool", name: "weather", tool_call_id: "c", content: { mm: 1 } },
    ];
    expect(
      messagesOf({
        messages: [
          { role: "assistant", content: [{ ...call, input: {} }] },
          { role: "tool", content: [{ ...result, output: { type: "json", value: { mm: 1 } } }] },
        ],
      }),
    ).toEqual(expected);
    expect(
      messagesOf({
        messages: [
          { role: "assistant", content: [{ ...call, args: {} }] },
          { role: "tool", content: [{ ...result, result: { mm: 1 } }] },
        ],
      }),
    ).toEqual(expected);
  });

  test.each([
    [
      { type: "image", image: { 0: 1, 1: 2, 2: 3 }, mediaType: "image/png" },
      "data:image/png;base64,AQID",
    ],
    [{ type: "image", image: { type: "Buffer", data: [1, 2, 3] } }, "data:image/*;base64,AQID"],
    [{ type: "file", data: "AQID", mediaType: "image/gif" }, "data:image/gif;base64,AQID"],
    [{ type: "image", image: "https://a.example/b.png" }, "https://a.example/b.png"],
  ])("has the image %j as a URL", (part, url) => {
    expect(messagesOf({ messages: [{ role: "user", content: [part] }] })).toEqual([
      { role: "user", content: [{ type: "image_url", image_url: { url } }] },
    ]);
  });

  test.each([
    [{ type: "file", data: "AQID", mediaType: "application/pdf" }],
    [{ type: "image", image: { width: 5 } }],
    [{ type: "text", text: "hi", providerOptions: { anthropic: { cacheControl: true } } }],
    [{ type: "somethingNew", value: 1 }],
  ])("has the part %j unchanged", (part) => {
    expect(messagesOf({ messages: [{ role: "user", content: [part] }] })).toEqual([
      { role: "user", content: [part] },
    ]);
  });
});

test("a response with an object that is not JSON keeps the text, with a warning", () => {
  const run = runOf("ai.generateObject", { "ai.response.object": "{broken" });
  expect(run["outputs"]).toEqual({ object: "{broken" });
  expect(warningsOf(run)).toEqual(['ai.response.object is not JSON: "{broken"']);
});

test("the result of a tool is JSON of any kind", () => {
  const outputOf = (result: string): unknown =>
    runOf("ai.toolCall", { "ai.toolCall.result": result })["outputs"];
  expect(outputOf('{"mm": 0.10}')).toEqual({ mm: 0.1 });
  expect(outputOf('"rain"')).toEqual({ output: "rain" });
  expect(outputOf("rain")).toEqual({ output: "rain" });
});

test("malformed JSON stays visible, with a warning", () => {
  const attributes = {
    "ai.prompt": "[1",
    "ai.prompt.messages": "5",
    "ai.response.toolCalls": "oops",
    "ai.toolCall.args": "oops",
    "ai.prompt.tools": ["{", '{"name": "weather"}'],
  };
  const run = runOf("ai.generateText.doGenerate", attributes);
  expect(run["inputs"]).toEqual({ input: "oops" });
  expect(metadataOf(run)).toMatchObject({ "ai.response.toolCalls": "oops" });
  expect(run["extra"]).toMatchObject({ invocation_params: { tools: ["{", { name: "weather" }] } });
  expect(warningsOf(run)).toEqual([
    'ai.prompt is not a JSON object: "[1"',
    'ai.prompt.messages is not a JSON list: "5"',
    'ai.toolCall.args is not JSON: "oops"',
    'ai.response.toolCalls is not a JSON list: "oops"',
    'ai.prompt.tools is not JSON: "{"',
  ]);
});

describe("usage", () => {
  const usageOf = (attributes: object): unknown => {
    const { outputs } = runOf("ai.generateText.doGenerate", attributes);
    return (outputs as Members | undefined)?.["usage_metadata"];
  };

  test("of version 6 includes reasoning and cached tokens", () => {
    expect(
      usageOf({
        "ai.usage.inputTokens": 10,
        "ai.usage.inputTokenDetails.cacheReadTokens": 3,
        "ai.usage.inputTokenDetails.cacheWriteTokens": 1,
        "ai.usage.cachedInputTokens": 3,
        "ai.usage.outputTokens": 5,
        "ai.usage.outputTokenDetails.reasoningTokens": 2,
        "ai.usage.reasoningTokens": 2,
        "ai.usage.totalTokens": 15,
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
      }),
    ).toEqual({
      input_tokens: 10,
      output_tokens: 5,
      total_tokens: 15,
      input_token_details: { cache_read: 3, cache_creation: 1 },
      output_token_details: { reasoning: 2 },
    });
  });

  test("of version 5 without details is the two counts", () => {
    const attributes = { "ai.usage.promptTokens": 3, "ai.usage.completionTokens": 4 };
    expect(usageOf(attributes)).toEqual({ input_tokens: 3, output_tokens: 4, total_tokens: 7 });
  });

  /** As version 5 reports it: `inputTokens` is Anthropic's number, without the cached tokens. */
  const anthropic = (usage: object) => ({
    "ai.response.providerMetadata": JSON.stringify({ anthropic: { usage } }),
  });
  const cached = { cache_read_input_tokens: 100, cache_creation_input_tokens: 20 };
  const expected = {
    input_tokens: 123,
    output_tokens: 7,
    total_tokens: 130,
    input_token_details: { cache_read: 100, cache_creation: 20 },
  };

  test("of version 5 with Anthropic includes the cached tokens once", () => {
    expect(
      usageOf({
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 7,
        "ai.usage.totalTokens": 10,
        ...anthropic({ input_tokens: 3, ...cached }),
      }),
    ).toEqual(expected);
    expect(
      usageOf({
        "ai.usage.inputTokens": 300,
        "ai.usage.outputTokens": 7,
        "ai.usage.cachedInputTokens": 100,
        ...anthropic({ input_tokens: 300, ...cached }),
      }),
    ).toMatchObject({ input_tokens: 420, total_tokens: 427 });
  });

  test("of an operation with several calls gets no cached tokens of only the last call", () => {
    const attributes = {
      "ai.usage.inputTokens": 600,
      "ai.usage.outputTokens": 14,
      ...anthropic({ input_tokens: 300, ...cached }),
    };
    expect(usageOf(attributes)).toEqual({
      input_tokens: 600,
      output_tokens: 14,
      total_tokens: 614,
    });
  });

  test("of version 6 with Anthropic already includes them", () => {
    expect(
      usageOf({
        "ai.usage.inputTokens": 123,
        "ai.usage.outputTokens": 7,
        "ai.usage.inputTokenDetails.cacheReadTokens": 100,
        "ai.usage.inputTokenDetails.cacheWriteTokens": 20,
        "ai.usage.totalTokens": 130,
        ...anthropic({ input_tokens: 3, ...cached }),
      }),
    ).toEqual(expected);
  });
});

test("the provider loses the kind of its API, and stays as an attribute", () => {
  const attributes = { "ai.model.provider": "openai.responses", "ai.model.id": "gpt" };
  expect(metadataOf(runOf("ai.generateText", attributes))).toMatchObject({
    ls_provider: "openai",
    ls_model_name: "gpt",
    ...attributes,
  });
  const other = mapped({ attributes: { "gen_ai.provider.name": "azure.ai.openai" } });
  expect(metadataOf(other)).toMatchObject({ ls_provider: "azure.ai.openai" });
});

test("metadata of the program is metadata of the run, and its tags are tags", () => {
  const run = runOf("ai.generateText", {
    "ai.telemetry.metadata.plan": "pro",
    "ai.telemetry.metadata.tags": ["a", "b"],
  });
  expect(metadataOf(run)).toMatchObject({ plan: "pro", "ai.telemetry.metadata.plan": "pro" });
  expect(run["tags"]).toEqual(["a", "b"]);
});

test("headers with credentials are masked, others are not", () => {
  const secret = "Bearer 123";
  const headers = {
    "ai.request.headers.Authorization": secret,
    "ai.request.headers.x-api-key": secret,
    "ai.request.headers.cookie": secret,
    "http.request.header.proxy-authorization": [secret],
  };
  const run = runOf("ai.generateText", { ...headers, "ai.request.headers.user-agent": "ai/6" });
  expect(metadataOf(run)).toMatchObject({
    ...Object.fromEntries(Object.keys(headers).map((name) => [name, "***"])),
    "ai.request.headers.user-agent": "ai/6",
  });
  expect(JSON.stringify(run)).not.toContain(secret);
});

test("other libraries' attributes with the same names stay in the metadata", () => {
  const attributes = { "ai.prompt": "hi", "ai.response.text": "ho" };
  const run = mapped({ attributes });
  expect(run["inputs"]).toEqual({});
  expect(metadataOf(run)).toMatchObject(attributes);
});
