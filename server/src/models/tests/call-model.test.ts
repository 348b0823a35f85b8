import { describe, expect, test } from "vitest";
import { callModel, modelCallLimits } from "../call-model.ts";
import type { ModelCall } from "../call-model.ts";
import type { ModelDelta } from "../model-answer.ts";
import { parseModelEndpoints } from "../../model/model-endpoint.ts";
import type { ModelRequest } from "../model-request.ts";
import { ScriptedTransport, toStream } from "./scripted-transport.ts";
import type { ScriptedResponse } from "./scripted-transport.ts";

const apiKey = "sk-secret-0123456789";
const schema = { type: "object", properties: { city: { type: "string" } } };
const weatherTool = { name: "weather", description: "Reads the weather.", parameters: schema };

/** A conversation with everything that a request can contain. */
const request: ModelRequest = {
  model: "m-1",
  messages: [
    { role: "system", content: "Be brief." },
    {
      role: "user",
      content: "What is this?",
      images: ["data:image/png;base64,AAAA", "https://a.test/b.png"],
    },
    {
      role: "assistant",
      content: "",
      toolCalls: [
        { id: "c1", name: "weather", arguments: '{"city":"Bern"}' },
        { id: "c2", name: "weather", arguments: "not JSON" },
      ],
    },
    { role: "tool", content: "sunny", toolCallId: "c1" },
    { role: "tool", content: "rain", toolCallId: "c2" },
    { role: "user", content: "And now?" },
  ],
  tools: [weatherTool],
  settings: { temperature: 0.2, topP: 0.9, maxTokens: 50, stop: ["END"] },
};

async function callWith(
  response: ScriptedResponse | Error,
  { url = "https://a.test/v1", ...options }: Partial<ModelCall> & { readonly url?: string } = {},
) {
  const transport = new ScriptedTransport(response);
  const deltas: ModelDelta[] = [];
  let clockMs = 0;
  const answer = await callModel({
    endpoint: parseModelEndpoints([{ name: "m", url, apiKey }])[0]!,
    request,
    tenantId: "t",
    transport,
    onDelta: (delta) => deltas.push(delta),
    now: () => (clockMs += 5),
    ...options,
  });
  const [sent] = transport.requests;
  return { answer, deltas, sent, body: JSON.parse(sent?.body ?? "null") as unknown };
}

const chatStream = toStream([
  { model: "m-1-2026", choices: [{ delta: { role: "assistant", content: "" } }] },
  { choices: [{ delta: { reasoning_content: "Hm." } }] },
  { choices: [{ delta: { content: "It is " } }] },
  { choices: [{ delta: { content: "sunny." } }] },
  {
    choices: [
      {
        delta: {
          tool_calls: [{ index: 0, id: "c3", function: { name: "weather", arguments: "" } }],
        },
      },
    ],
  },
  { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] } }] },
  { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: '"Ulm"}' } }] } }] },
  { choices: [{ delta: {}, finish_reason: "tool_calls" }] },
  {
    choices: [],
    usage: {
      prompt_tokens: 20,
      completion_tokens: 9,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 },
    },
  },
  "[DONE]",
]);

const expectedAnswer = {
  text: "It is sunny.",
  thinking: "Hm.",
  toolCalls: [{ id: "c3", name: "weather", arguments: '{"city":"Ulm"}' }],
  finishReason: "toolCalls",
  model: "m-1-2026",
};

describe("OpenAI's chat completions", () => {
  test("the body has the messages, images, calls, results, tools and settings, and the key is a header", async () => {
    const { body, sent } = await callWith({ body: chatStream });
    expect(sent?.url).toBe("https://a.test/v1/chat/completions");
    expect(sent?.headers["authorization"]).toBe(`Bearer ${apiKey}`);
    expect(body).toEqual({
      model: "m-1",
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
            { type: "image_url", image_url: { url: "https://a.test/b.png" } },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: "c1",
              type: "function",
              function: { name: "weather", arguments: '{"city":"Bern"}' },
            },
            { id: "c2", type: "function", function: { name: "weather", arguments: "not JSON" } },
          ],
        },
        { role: "tool", content: "sunny", tool_call_id: "c1" },
        { role: "tool", content: "rain", tool_call_id: "c2" },
        { role: "user", content: "And now?" },
      ],
      tools: [{ type: "function", function: weatherTool }],
      temperature: 0.2,
      top_p: 0.9,
      max_tokens: 50,
      stop: ["END"],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test("OpenAI itself gets the newer name of the limit, and a schema of the answer", async () => {
    const withSchema = { ...request, outputSchema: { name: "city", schema } };
    const { body } = await callWith(
      { body: chatStream },
      { url: "https://api.openai.com/v1", request: withSchema },
    );
    expect(body).toMatchObject({
      max_completion_tokens: 50,
      response_format: { type: "json_schema", json_schema: { name: "city", schema } },
    });
    expect(body).not.toHaveProperty("max_tokens");
  });

  test("the parts of a stream add up to the answer, each passed on as it arrives", async () => {
    const { answer, deltas } = await callWith({ body: chatStream });
    expect(answer).toEqual({
      ...expectedAnswer,
      usage: { inputTokens: 20, outputTokens: 9, cacheRead: 4, cacheWrite: 0, reasoning: 2 },
      firstTokenMs: 5,
      durationMs: 10,
    });
    expect(deltas).toEqual([
      { kind: "thinking", text: "Hm." },
      { kind: "text", text: "It is " },
      { kind: "text", text: "sunny." },
      { kind: "toolCall", index: 0, id: "c3", name: "weather" },
      { kind: "arguments", index: 0, text: '{"city":' },
      { kind: "arguments", index: 0, text: '"Ulm"}' },
    ]);
  });

  test("a server that does not stream is read, too", async () => {
    const message = {
      content: "Hello",
      tool_calls: [{ id: "c", function: { name: "f", arguments: "{}" } }],
    };
    const { answer } = await callWith({
      contentType: "application/json",
      body: JSON.stringify({ model: "m", choices: [{ message, finish_reason: "stop" }] }),
    });
    expect(answer).toMatchObject({
      text: "Hello",
      toolCalls: [{ id: "c", name: "f", arguments: "{}" }],
      finishReason: "stop",
    });
    expect(answer.failure).toBeUndefined();
  });
});

describe("OpenAI's responses", () => {
  const url = "openai-responses+https://a.test/v1";
  const response = {
    status: "completed",
    model: "m-1-2026",
    usage: {
      input_tokens: 20,
      output_tokens: 9,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens_details: { reasoning_tokens: 2 },
    },
  };
  const call = { type: "function_call", id: "fc1", call_id: "c3", name: "weather" };

  test("the body has items for messages, calls and results, and asks the provider to keep nothing", async () => {
    const { body } = await callWith({ body: "" }, { url });
    expect(body).toEqual({
      model: "m-1",
      input: [
        { role: "system", content: [{ type: "input_text", text: "Be brief." }] },
        {
          role: "user",
          content: [
            { type: "input_text", text: "What is this?" },
            { type: "input_image", image_url: "data:image/png;base64,AAAA" },
            { type: "input_image", image_url: "https://a.test/b.png" },
          ],
        },
        { type: "function_call", call_id: "c1", name: "weather", arguments: '{"city":"Bern"}' },
        { type: "function_call", call_id: "c2", name: "weather", arguments: "not JSON" },
        { type: "function_call_output", call_id: "c1", output: "sunny" },
        { type: "function_call_output", call_id: "c2", output: "rain" },
        { role: "user", content: [{ type: "input_text", text: "And now?" }] },
      ],
      tools: [{ type: "function", ...weatherTool }],
      temperature: 0.2,
      top_p: 0.9,
      max_output_tokens: 50,
      store: false,
      stream: true,
    });
  });

  test("the parts of a stream add up to the answer", async () => {
    const { answer } = await callWith(
      {
        body: toStream([
          { type: "response.created", response: { status: "in_progress" } },
          { type: "response.reasoning_summary_text.delta", delta: "Hm." },
          { type: "response.output_text.delta", delta: "It is " },
          { type: "response.output_text.delta", delta: "sunny." },
          { type: "response.output_item.added", item: { ...call, arguments: "" } },
          {
            type: "response.function_call_arguments.delta",
            item_id: "fc1",
            delta: '{"city":"Ulm"}',
          },
          { type: "response.output_item.done", item: { ...call, arguments: '{"city":"Ulm"}' } },
          { type: "response.completed", response },
        ]),
      },
      { url },
    );
    expect(answer).toMatchObject({
      ...expectedAnswer,
      usage: { inputTokens: 20, outputTokens: 9 },
    });
    expect(answer.failure).toBeUndefined();
  });

  test("a response that does not stream, and one that was cut", async () => {
    const output = [
      { type: "reasoning", summary: [{ text: "Hm." }] },
      { type: "message", content: [{ type: "output_text", text: "It is sunny." }] },
      { ...call, arguments: '{"city":"Ulm"}' },
    ];
    const whole = {
      contentType: "application/json",
      body: JSON.stringify({ ...response, output }),
    };
    expect((await callWith(whole, { url })).answer).toMatchObject(expectedAnswer);
    const incomplete = {
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    };
    const cut = { body: toStream([{ type: "response.incomplete", response: incomplete }]) };
    expect((await callWith(cut, { url })).answer.finishReason).toBe("length");
    const failed = { status: "failed", error: { message: "no quota" } };
    const broken = { body: toStream([{ type: "response.failed", response: failed }]) };
    expect((await callWith(broken, { url })).answer.failure).toEqual({
      kind: "failed",
      message: "The endpoint reports an error: no quota",
    });
  });
});

describe("Anthropic's messages", () => {
  const url = "anthropic+https://a.test";
  const stream = toStream([
    {
      type: "message_start",
      message: {
        model: "m-1-2026",
        usage: { input_tokens: 16, cache_read_input_tokens: 4, output_tokens: 1 },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
    { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "It is sunny." } },
    { type: "ping" },
    {
      type: "content_block_start",
      index: 2,
      content_block: { type: "tool_use", id: "c3", name: "weather", input: {} },
    },
    {
      type: "content_block_delta",
      index: 2,
      delta: { type: "input_json_delta", partial_json: '{"city":"Ulm"}' },
    },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } },
    { type: "message_stop" },
  ]);

  test("the body has the system prompt, joined turns and a limit, and the key is a header of its own", async () => {
    const { body, sent } = await callWith({ body: stream }, { url });
    expect(sent?.url).toBe("https://a.test/v1/messages");
    expect(sent?.headers).toMatchObject({ "x-api-key": apiKey, "anthropic-version": "2023-06-01" });
    expect(sent?.headers).not.toHaveProperty("authorization");
    expect(body).toEqual({
      model: "m-1",
      system: "Be brief.",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
            { type: "image", source: { type: "url", url: "https://a.test/b.png" } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "tool_use", id: "c1", name: "weather", input: { city: "Bern" } },
            { type: "tool_use", id: "c2", name: "weather", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: "sunny" },
            { type: "tool_result", tool_use_id: "c2", content: "rain" },
            { type: "text", text: "And now?" },
          ],
        },
      ],
      tools: [{ name: "weather", description: "Reads the weather.", input_schema: schema }],
      max_tokens: 50,
      temperature: 0.2,
      top_p: 0.9,
      stop_sequences: ["END"],
      stream: true,
    });
  });

  test("the parts of a stream add up to the answer, with cached tokens among the input tokens", async () => {
    const { answer } = await callWith({ body: stream }, { url });
    expect(answer).toMatchObject({
      ...expectedAnswer,
      usage: { inputTokens: 20, outputTokens: 9, cacheRead: 4 },
    });
    expect(answer.failure).toBeUndefined();
  });

  test("with a schema, the model answers by a tool, whose arguments are the text of the answer", async () => {
    const { tools: _, ...plain } = request;
    const withSchema = { ...plain, outputSchema: { name: "city", schema } };
    const block = { type: "tool_use", id: "x", name: "answer", input: {} };
    const { body, answer } = await callWith(
      {
        body: toStream([
          { type: "content_block_start", index: 0, content_block: block },
          { type: "content_block_delta", index: 0, delta: { partial_json: '{"city":' } },
          { type: "content_block_delta", index: 0, delta: { partial_json: '"Ulm"}' } },
          { type: "message_delta", delta: { stop_reason: "tool_use" } },
          { type: "message_stop" },
        ]),
      },
      { url, request: withSchema },
    );
    expect(body).toMatchObject({
      tools: [{ name: "answer", input_schema: schema }],
      tool_choice: { type: "tool", name: "answer" },
      max_tokens: 50,
    });
    expect(answer).toMatchObject({ text: '{"city":"Ulm"}', toolCalls: [], finishReason: "stop" });
  });

  test("an answer that does not stream is read, and an error inside of a stream", async () => {
    const content = [
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "It is sunny." },
      { type: "tool_use", id: "c3", name: "weather", input: { city: "Ulm" } },
    ];
    const whole = {
      model: "m-1-2026",
      content,
      stop_reason: "tool_use",
      usage: { input_tokens: 1, output_tokens: 2 },
    };
    const { answer } = await callWith(
      { contentType: "application/json", body: JSON.stringify(whole) },
      { url },
    );
    expect(answer).toMatchObject({ ...expectedAnswer, usage: { inputTokens: 1, outputTokens: 2 } });
    const overloaded = {
      type: "error",
      error: { type: "overloaded_error", message: "Overloaded" },
    };
    const broken = await callWith({ body: toStream([overloaded]) }, { url });
    expect(broken.answer.failure?.message).toBe("The endpoint reports an error: Overloaded");
  });
});

describe("what endpoints do wrong", () => {
  test("a reason to finish that is not known, even the name of a member of objects, is `other`", async () => {
    for (const reason of ["whim", "constructor"]) {
      const body = toStream([{ choices: [{ delta: { content: "Hi" }, finish_reason: reason }] }]);
      expect((await callWith({ body })).answer.finishReason).toBe("other");
    }
  });

  test("a key that is echoed reaches neither the parts nor the answer, also in parts of a stream", async () => {
    const { answer, deltas } = await callWith({
      body: toStream([
        { model: apiKey, choices: [{ delta: { content: `Your key is ${apiKey.slice(0, 7)}` } }] },
        { choices: [{ delta: { content: `${apiKey.slice(7)}, sk-other` } }] },
        {
          choices: [
            {
              delta: {
                tool_calls: [{ index: 0, id: apiKey, function: { name: "f", arguments: apiKey } }],
              },
            },
          ],
        },
        { choices: [{ finish_reason: "stop" }] },
      ]),
    });
    expect(answer.text).toBe("Your key is [key], sk-other");
    expect(JSON.stringify([answer, deltas])).not.toContain(apiKey);
    expect(answer.toolCalls).toEqual([{ id: "[key]", name: "f", arguments: "[key]" }]);
  });

  test.each([
    [
      401,
      JSON.stringify({ error: { message: `Incorrect API key: ${apiKey}` } }),
      "unauthorized",
      "401: Incorrect API key: [key]",
    ],
    [401, `<p>${apiKey}</p>`, "unauthorized", "401: <p>[key]</p>"],
    [429, '{"error":{"message":"slow down"}}', "rateLimited", "429: slow down"],
    [404, '{"detail":"no such model"}', "refused", "404: no such model"],
    [500, "", "failed", "500"],
    [204, "", "malformed", "204"],
  ] as const)("status %s with %s", async (status, body, kind, message) => {
    const { answer } = await callWith({
      status,
      body,
      contentType: "text/plain",
      retryAfterSeconds: 7,
    });
    expect(answer.failure).toEqual({ kind, status, message, retryAfterSeconds: 7 });
  });

  test("a huge error is cut, and the rest of it is not read", async () => {
    let readBytes = 0;
    async function* endless() {
      for (;;) {
        readBytes += 1_000;
        yield Buffer.alloc(1_000, "x");
      }
    }
    const { answer } = await callWith({ status: 400, body: endless() });
    expect(answer.failure?.message).toHaveLength(modelCallLimits.errorChars + 1);
    expect(readBytes).toBeLessThan(modelCallLimits.errorBytes + 2_000);
  });

  test.each([
    ["text/html", "<html>", /answered with the content type text\/html instead of/],
    ["", "", /answered with no content type/],
    ["application/json", "[1]", /JSON that is not an object/],
    ["application/json", '{"choices":[]}', /before the answer was complete/],
    ["text/event-stream", "data: {broken\n\n", /not a JSON object/],
    ["text/event-stream", "<html>", /before the answer was complete/],
    ["text/event-stream", "", /before the answer was complete/],
  ])("the content type %j with %j is named as malformed", async (contentType, body, message) => {
    const { answer } = await callWith({ contentType, body });
    expect(answer.failure).toEqual({
      kind: "malformed",
      message: expect.stringMatching(message) as string,
    });
  });

  test("a stream that ends early keeps what had arrived", async () => {
    const { answer } = await callWith({
      body: toStream([{ choices: [{ delta: { content: "It is" } }] }]),
    });
    expect(answer).toMatchObject({ text: "It is", failure: { kind: "malformed" } });
  });

  test("an endless stream ends at the limit, with what had arrived", async () => {
    const part = toStream([{ choices: [{ delta: { content: "x".repeat(100_000) } }] }]);
    async function* endless() {
      for (;;) {
        yield Buffer.from(part);
      }
    }
    const { answer } = await callWith({ body: endless() });
    expect(answer.failure).toEqual({
      kind: "limit",
      message: expect.stringMatching(/more than 8,388,608 characters/) as string,
    });
    expect(answer.text.length).toBeLessThanOrEqual(modelCallLimits.answerChars);
    async function* comments() {
      const chunk = Buffer.from(`:${"x".repeat(1_000_000)}\n`);
      for (;;) {
        yield chunk;
      }
    }
    expect((await callWith({ body: comments() })).answer.failure?.message).toMatch(
      /67,108,864 bytes/,
    );
  });

  test("an error of the connection, and a call that is canceled", async () => {
    const broken = await callWith(new Error(`connect ECONNREFUSED with ${apiKey}`));
    expect(broken.answer.failure).toEqual({
      kind: "unreachable",
      message: "connect ECONNREFUSED with [key]",
    });
    const controller = new AbortController();
    async function* cut() {
      yield Buffer.from(toStream([{ choices: [{ delta: { content: "It is" } }] }]));
      controller.abort();
      throw new Error("aborted");
    }
    const { answer } = await callWith({ body: cut() }, { signal: controller.signal });
    expect(answer).toMatchObject({ text: "It is", failure: { kind: "canceled" } });
  });
});
