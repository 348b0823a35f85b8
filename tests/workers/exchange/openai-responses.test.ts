import { describe, expect, test } from "vitest";
import {
  eventStream,
  readRequestOf,
  readResponseOf,
  toTypedEvents,
  warningsOf,
} from "./exchanges.ts";

const response = {
  id: "resp_1",
  object: "response",
  model: "gpt-5",
  status: "in_progress",
  output: [],
};
const reasoning = {
  id: "rs_1",
  type: "reasoning",
  summary: [{ type: "summary_text", text: "Thinking hard" }],
};
const call = {
  id: "fc_1",
  type: "function_call",
  call_id: "call_1",
  name: "look",
  arguments: '{"at":1}',
  status: "completed",
};
const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Hello", annotations: [{ type: "url_citation" }] }],
};
const usage = {
  input_tokens: 30,
  input_tokens_details: { cached_tokens: 10 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 8 },
  total_tokens: 42,
};

const added = (index: number, item: object) => ({
  type: "response.output_item.added",
  output_index: index,
  item,
});

/** The events of an answer with reasoning, a tool call and a message, without the last one. */
const events = [
  { type: "response.created", response },
  { type: "response.in_progress", response },
  added(0, { id: "rs_1", type: "reasoning", summary: [] }),
  {
    type: "response.reasoning_summary_part.added",
    output_index: 0,
    summary_index: 0,
    part: { type: "summary_text", text: "" },
  },
  ...["Thinking", " hard"].map((delta) => ({
    type: "response.reasoning_summary_text.delta",
    output_index: 0,
    summary_index: 0,
    delta,
  })),
  added(1, { ...call, arguments: "", status: "in_progress" }),
  ...['{"at"', ":1}"].map((delta) => ({
    type: "response.function_call_arguments.delta",
    output_index: 1,
    delta,
  })),
  { type: "response.output_item.done", output_index: 1, item: call },
  added(2, { ...message, status: "in_progress", content: [] }),
  {
    type: "response.content_part.added",
    output_index: 2,
    content_index: 0,
    part: { type: "output_text", text: "", annotations: [] },
  },
  ...["Hel", "lo"].map((delta) => ({
    type: "response.output_text.delta",
    output_index: 2,
    content_index: 0,
    delta,
    logprobs: [],
  })),
  {
    type: "response.output_text.annotation.added",
    output_index: 2,
    content_index: 0,
    annotation: { type: "url_citation" },
  },
];

const output = [reasoning, call, message];
const read = (values: readonly { readonly type: string }[]) =>
  readResponseOf("openai.responses", toTypedEvents(values), eventStream);

describe("the responses API", () => {
  test("a request is the inputs, without the credentials of remote tools", () => {
    const request = {
      model: "gpt-5",
      input: "Hi",
      max_output_tokens: 9,
      tools: [
        {
          type: "mcp",
          server_url: "https://a.test",
          headers: { "x-key": "k" },
          authorization: "t",
        },
        { type: "function", name: "f", parameters: { properties: { headers: {} } } },
      ],
    };
    const fields = readRequestOf("openai.responses", request);
    expect(JSON.stringify(fields)).not.toMatch(/"k"|"t"/);
    expect(fields.inputs).toMatchObject({
      input: "Hi",
      tools: [{ type: "mcp" }, request.tools[1]],
    });
    expect(fields.metadata).toMatchObject({ ls_model_name: "gpt-5", ls_max_tokens: 9 });
  });

  test("the last event of a stream is the response, with its usage", () => {
    const completed = { ...response, status: "completed", output, usage };
    const fields = read([...events, { type: "response.completed", response: completed } as never]);
    expect(fields.outputs).toEqual({
      ...completed,
      usage_metadata: {
        input_tokens: 30,
        output_tokens: 12,
        total_tokens: 42,
        input_token_details: { cache_read: 10 },
        output_token_details: { reasoning: 8 },
      },
    });
    expect(fields.isComplete).toBe(true);
    expect(warningsOf(fields)).toBeUndefined();
  });

  test("a stream without its last event is built from the items and their pieces", () => {
    const fields = readResponseOf("openai.responses", toTypedEvents(events), {
      ...eventStream,
      ending: "cancelled",
    });
    const statuses = { status: "in_progress" };
    expect(fields.outputs).toEqual({
      ...response,
      output: [reasoning, call, { ...message, ...statuses }],
    });
    expect(fields.isComplete).toBe(false);
  });

  test("a last event without items gets those of the stream", () => {
    const fields = read([
      { type: "response.output_item.done", output_index: 0, item: call } as never,
      { type: "response.completed", response: { ...response, status: "completed" } } as never,
    ]);
    expect(fields.outputs).toMatchObject({ status: "completed", output: [call] });
  });

  test("response.incomplete is no error, response.failed and an event error are", () => {
    const incomplete = read([
      {
        type: "response.incomplete",
        response: { ...response, incomplete_details: { reason: "max_output_tokens" } },
      } as never,
    ]);
    expect(incomplete.error).toBeUndefined();
    expect(incomplete.outputs).toMatchObject({
      incomplete_details: { reason: "max_output_tokens" },
    });
    const failed = read([
      {
        type: "response.failed",
        response: {
          ...response,
          status: "failed",
          error: { code: "server_error", message: "It broke" },
        },
      } as never,
    ]);
    expect(failed.error).toBe("It broke (server_error)");
    const error = read([
      ...events,
      { type: "error", code: "rate_limit", message: "Slow down", param: null } as never,
    ]);
    expect(error.error).toBe("Slow down (error, rate_limit)");
    expect(error.outputs).toMatchObject({ output: [{}, {}, { content: [{ text: "Hello" }] }] });
  });

  test("an image that the model created is recorded as its size", () => {
    const { outputs } = readResponseOf("openai.responses", {
      ...response,
      output: [{ type: "image_generation_call", id: "ig", result: "AAAAAAAA" }],
    });
    expect(outputs?.["output"]).toEqual([
      { type: "image_generation_call", id: "ig", result: "[image, 6 bytes, not recorded]" },
    ]);
  });

  test("positions that make no sense neither fail nor take memory", () => {
    const fields = read([
      {
        type: "response.output_text.delta",
        output_index: 1e9,
        content_index: 1e9,
        delta: "a",
      } as never,
      {
        type: "response.output_text.delta",
        output_index: -1,
        content_index: "x",
        delta: "b",
      } as never,
    ]);
    expect(fields.outputs).toEqual({
      output: [{ content: [{ text: "b" }] }, { content: [{ text: "a" }] }],
    });
  });
});
