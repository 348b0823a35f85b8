import { array, assert, constantFrom, property } from "fast-check";
import { describe, expect, test } from "vitest";
import {
  eventStream,
  readRequestOf,
  readResponseOf,
  toTypedEvents,
  warningsOf,
} from "./exchanges.ts";

const usage = {
  input_tokens: 10,
  cache_creation_input_tokens: 200,
  cache_read_input_tokens: 3_000,
  cache_creation: { ephemeral_5m_input_tokens: 150, ephemeral_1h_input_tokens: 50 },
  output_tokens: 1,
  service_tier: "standard",
};
const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5",
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage,
};

const start = (index: number, content_block: object) => ({
  type: "content_block_start",
  index,
  content_block,
});
const delta = (index: number, value: object) => ({
  type: "content_block_delta",
  index,
  delta: value,
});
const stop = (index: number) => ({ type: "content_block_stop", index });

const events = [
  { type: "message_start", message },
  start(0, { type: "thinking", thinking: "", signature: "" }),
  { type: "ping" },
  delta(0, { type: "thinking_delta", thinking: "Let me " }),
  delta(0, { type: "thinking_delta", thinking: "see" }),
  delta(0, { type: "signature_delta", signature: "c2ln" }),
  stop(0),
  start(1, { type: "text", text: "" }),
  delta(1, { type: "text_delta", text: "Grü" }),
  delta(1, { type: "text_delta", text: "ße 🐎" }),
  delta(1, { type: "citations_delta", citation: { type: "page_location", cited_text: "x" } }),
  stop(1),
  start(2, { type: "tool_use", id: "toolu_1", name: "add", input: {} }),
  delta(2, { type: "input_json_delta", partial_json: "" }),
  delta(2, { type: "input_json_delta", partial_json: '{"a": 1, "b"' }),
  delta(2, { type: "input_json_delta", partial_json: ': "x"}' }),
  stop(2),
  start(3, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }),
  delta(3, { type: "input_json_delta", partial_json: '{"query":"q"}' }),
  stop(3),
  start(4, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ url: "u" }] }),
  stop(4),
  start(5, { type: "tool_use", id: "toolu_2", name: "now", input: {} }),
  stop(5),
  {
    type: "message_delta",
    delta: { stop_reason: "tool_use", stop_sequence: null },
    usage: {
      input_tokens: null,
      cache_read_input_tokens: 3_000,
      output_tokens: 40,
      server_tool_use: { web_search_requests: 1 },
    },
  },
  { type: "message_stop" },
];

const content = [
  { type: "thinking", thinking: "Let me see", signature: "c2ln" },
  { type: "text", text: "Grüße 🐎", citations: [{ type: "page_location", cited_text: "x" }] },
  { type: "tool_use", id: "toolu_1", name: "add", input: { a: 1, b: "x" } },
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
  { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ url: "u" }] },
  { type: "tool_use", id: "toolu_2", name: "now", input: {} },
];

const read = (values: readonly { readonly type: string }[], ending?: "cancelled") =>
  readResponseOf("anthropic.messages", toTypedEvents(values), {
    ...eventStream,
    ...(ending && { ending }),
  });

describe("a stream of Anthropic's messages", () => {
  test("is joined to the message; cached tokens are within the input, once", () => {
    const fields = read(events);
    expect(fields).toEqual({
      outputs: {
        ...message,
        content,
        stop_reason: "tool_use",
        usage: { ...usage, output_tokens: 40, server_tool_use: { web_search_requests: 1 } },
        usage_metadata: {
          input_tokens: 3_210,
          output_tokens: 40,
          total_tokens: 3_250,
          input_token_details: { cache_read: 3_000, cache_creation: 200 },
        },
      },
      metadata: {
        ls_provider: "anthropic",
        ls_model_type: "chat",
        ls_model_name: "claude-sonnet-4-5",
      },
      isComplete: true,
    });
  });

  test("means the same as the message without streaming", () => {
    const streamed = read(events).outputs;
    const { usage_metadata: _usage, ...whole } = streamed ?? {};
    expect(readResponseOf("anthropic.messages", whole).outputs).toEqual(streamed);
  });

  test("that was left early has what was received, and the input of a tool as text", () => {
    const fields = read(events.slice(0, 15), "cancelled");
    expect(fields.outputs).toMatchObject({
      content: [{ thinking: "Let me see" }, { text: "Grüße 🐎" }, { input: '{"a": 1, "b"' }],
      usage_metadata: { input_tokens: 3_210, output_tokens: 1 },
    });
    expect(fields.isComplete).toBe(false);
    expect(warningsOf(fields)).toBeUndefined();
    const ended = read([...events.slice(0, 15), stop(2)]);
    expect(warningsOf(ended)).toEqual([
      expect.stringMatching(/^The input of add is not valid JSON: /),
      "The response ended before the provider reported that it is complete.",
    ]);
  });

  test("with an event error fails with its message, and keeps the partial answer", () => {
    const fields = read([
      ...events.slice(0, 10),
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } as never,
    ]);
    expect(fields.error).toBe("Overloaded (overloaded_error)");
    expect(fields.outputs).toMatchObject({ content: [{}, { text: "Grüße 🐎" }] });
  });

  test("never fails, with any of its events missing or repeated", () => {
    assert(
      property(array(constantFrom(...events), { maxLength: 40 }), (picked) => {
        const fields = read(picked);
        expect(fields.error).toBeUndefined();
        expect(JSON.stringify(warningsOf(fields) ?? [])).not.toContain("could not be read");
      }),
    );
  });
});

describe("Anthropic's messages", () => {
  test("a request is the inputs, with settings as metadata and without credentials of MCP servers", () => {
    const request = {
      model: "claude-sonnet-4-5",
      max_tokens: 100,
      temperature: 0,
      stop_sequences: ["END"],
      system: "Be brief.",
      messages: [{ role: "user", content: "Hi" }],
      mcp_servers: [
        { type: "url", url: "https://a.test", name: "a", authorization_token: "secret" },
      ],
    };
    const fields = readRequestOf("anthropic.messages", request);
    expect(JSON.stringify(fields)).not.toContain("secret");
    expect(fields).toMatchObject({
      name: "ChatAnthropic",
      inputs: { system: "Be brief.", messages: request.messages, mcp_servers: [{ name: "a" }] },
      metadata: {
        ls_provider: "anthropic",
        ls_model_name: "claude-sonnet-4-5",
        ls_temperature: 0,
        ls_max_tokens: 100,
        ls_stop: ["END"],
      },
    });
  });

  test("on Vertex AI and Bedrock the model is in the path", () => {
    const vertex =
      "us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic";
    const readAt = (url: string) => readRequestOf("anthropic.messages", { messages: [] }, { url });
    expect(readAt(`${vertex}/models/claude-opus-4:streamRawPredict`).metadata).toMatchObject({
      ls_provider: "google_vertexai",
      ls_model_name: "claude-opus-4",
    });
    const bedrock = "bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-v2%3A1/invoke";
    expect(readAt(bedrock).metadata).toMatchObject({
      ls_provider: "amazon_bedrock",
      ls_model_name: "anthropic.claude-v2:1",
    });
  });

  test("an error has the provider's message", () => {
    const body = { type: "error", error: { type: "not_found_error", message: "model: x" } };
    const fields = readResponseOf("anthropic.messages", body, { status: 404 });
    expect(fields.error).toBe("404 model: x (not_found_error)");
    expect(fields.outputs).toEqual(body);
  });

  test("cache writes that are reported by lifetime alone count too", () => {
    const { outputs } = readResponseOf("anthropic.messages", {
      ...message,
      usage: {
        input_tokens: 1,
        output_tokens: 2,
        cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
      },
    });
    expect(outputs?.["usage_metadata"]).toEqual({
      input_tokens: 8,
      output_tokens: 2,
      total_tokens: 10,
      input_token_details: { cache_creation: 7 },
    });
  });
});
