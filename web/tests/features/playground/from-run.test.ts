import { describe, expect, test } from "vitest";
import { toPlaygroundState } from "../../../src/features/playground/from-run.ts";

const schema = { type: "object", properties: { city: { type: "string" } } };
const weatherCall = { id: "c1", name: "weather", arguments: '{"city":"Ulm"}' };

/** The messages without what only the editor needs. */
const messagesOf = (inputs: unknown, extra: unknown = {}) =>
  toPlaygroundState({ inputs, extra }).messages.map(
    ({ role, text, images, toolCalls, toolCallId }) => ({
      role,
      text,
      ...(images.length === 0 ? {} : { images }),
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
      ...(toolCallId === "" ? {} : { toolCallId }),
    }),
  );

const conversation = [
  { role: "system", text: "Be brief." },
  { role: "user", text: "What is it?", images: ["data:image/png;base64,AAAA"] },
  { role: "assistant", text: "", toolCalls: [weatherCall] },
  { role: "tool", text: "sunny", toolCallId: "c1" },
  { role: "user", text: "And now?" },
];

describe("a recorded call becomes the same messages, whatever client recorded it", () => {
  test("OpenAI's chat completions", () => {
    const inputs = {
      model: "gpt-4o",
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "What is it?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: "c1",
              type: "function",
              function: { name: "weather", arguments: '{"city":"Ulm"}' },
            },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: "sunny" },
        { role: "user", content: "And now?" },
      ],
    };
    expect(messagesOf(inputs)).toEqual(conversation);
  });

  test("OpenAI's responses", () => {
    const inputs = {
      model: "gpt-4o",
      instructions: "Be brief.",
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "What is it?" },
            { type: "input_image", image_url: "data:image/png;base64,AAAA" },
          ],
        },
        { type: "function_call", call_id: "c1", name: "weather", arguments: '{"city":"Ulm"}' },
        { type: "function_call_output", call_id: "c1", output: "sunny" },
        { role: "user", content: "And now?" },
      ],
    };
    expect(messagesOf(inputs)).toEqual(conversation);
    expect(messagesOf({ model: "gpt-4o", input: "Hello" })).toEqual([
      { role: "user", text: "Hello" },
    ]);
  });

  test("Anthropic's messages", () => {
    const inputs = {
      model: "claude",
      system: "Be brief.",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is it?" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
          ],
        },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "c1", name: "weather", input: { city: "Ulm" } }],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "sunny" }] },
            { type: "text", text: "And now?" },
          ],
        },
      ],
    };
    expect(messagesOf(inputs)).toEqual(conversation);
  });

  test("LangChain's messages", () => {
    const message = (name: string, kwargs: object) => ({
      lc: 1,
      type: "constructor",
      id: ["langchain_core", "messages", name],
      kwargs,
    });
    const inputs = {
      messages: [
        [
          message("SystemMessage", { content: "Be brief." }),
          message("HumanMessage", {
            content: [
              { type: "text", text: "What is it?" },
              { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
            ],
          }),
          message("AIMessage", {
            content: "",
            tool_calls: [{ id: "c1", name: "weather", args: { city: "Ulm" } }],
          }),
          message("ToolMessage", { content: "sunny", tool_call_id: "c1" }),
          message("HumanMessage", { content: "And now?" }),
        ],
      ],
    };
    expect(messagesOf(inputs)).toEqual(conversation);
  });
});

test("the model, settings, tools and schema are those of the request", () => {
  const tools = [{ type: "function", function: { name: "weather", parameters: schema } }];
  const state = toPlaygroundState({
    inputs: {
      model: "gpt-4o",
      messages: [{ role: "user", content: "{not a variable}" }],
      temperature: 0,
      max_completion_tokens: 64,
      top_p: 0.5,
      seed: 7,
      stop: ["END", "\n\n"],
      tools,
      response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
    },
    extra: { metadata: { ls_model_name: "other", ls_temperature: 1, model_endpoint: "fake" } },
  });
  expect(state).toMatchObject({
    format: "none",
    targets: [{ endpoint: "fake", model: "gpt-4o" }],
    settings: { temperature: "0", maxTokens: "64", topP: "0.5", seed: "7" },
    notes: [],
  });
  expect(JSON.parse(state.toolsText)).toEqual(tools);
  expect(JSON.parse(state.schemaText)).toEqual(schema);
});

test("a client that records settings outside of the inputs is understood, and the other forms of a schema", () => {
  const state = toPlaygroundState({
    inputs: {
      messages: [{ role: "user", content: "x" }],
      text: { format: { type: "json_schema", schema } },
    },
    extra: {
      invocation_params: {
        model: "m-params",
        max_tokens: 9,
        tools: [{ name: "t", input_schema: schema }],
      },
      metadata: { ls_temperature: 0.4, ls_stop: ["."] },
    },
  });
  expect(state.targets[0]?.model).toBe("m-params");
  expect(state.settings).toMatchObject({ temperature: "0.4", maxTokens: "9", stop: "." });
  expect(JSON.parse(state.toolsText)).toEqual([{ name: "t", input_schema: schema }]);
  expect(JSON.parse(state.schemaText)).toEqual(schema);
});

test("what can't be sent again is named, and inputs without messages are, too", () => {
  const thinking = {
    messages: [
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm" },
          { type: "text", text: "Yes" },
        ],
      },
    ],
  };
  const state = toPlaygroundState({ inputs: thinking });
  expect(state.messages.map(({ text }) => text)).toEqual(["Yes"]);
  expect(state.notes).toEqual(["1 part of the messages can't be sent again."]);
  const none = toPlaygroundState({ inputs: { question: 1 } });
  expect(none.messages).toMatchObject([{ role: "user", text: "" }]);
  expect(none.notes).toEqual(["The inputs of the run contain no messages of a known format."]);
  expect(toPlaygroundState({}).messages).toHaveLength(1);
});
