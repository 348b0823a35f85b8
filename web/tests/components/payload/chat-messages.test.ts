import { describe, expect, test } from "vitest";
import { toChatMessages } from "../../../src/components/payload/chat-messages.ts";

const rolesOf = (value: unknown) => toChatMessages(value)?.map(({ role }) => role);
const partsOf = (value: unknown) => toChatMessages(value)?.flatMap(({ parts }) => parts);

describe("messages in the payload of a run", () => {
  test("are found in OpenAI requests: texts, parts, images, tool calls and their results", () => {
    const value = {
      model: "m",
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "What is it?" },
            { type: "image_url", image_url: { url: "https://a.test/x.png" } },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "c1", type: "function", function: { name: "look", arguments: '{"at":1}' } },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: "a cat" },
      ],
    };
    expect(rolesOf(value)).toEqual(["system", "user", "assistant", "tool"]);
    expect(partsOf(value)).toEqual([
      { kind: "text", text: "Be brief." },
      { kind: "text", text: "What is it?" },
      { kind: "image", address: "https://a.test/x.png" },
      { kind: "toolCall", id: "c1", name: "look", args: { at: 1 } },
      { kind: "toolResult", id: "c1", value: "a cat" },
    ]);
  });

  test("are found in OpenAI chat completions: choices, refusals, and arguments that are not JSON", () => {
    const message = {
      role: "assistant",
      content: "Yes",
      refusal: "but no",
      tool_calls: [{ id: "1", function: { name: "f", arguments: "{oops" } }],
    };
    expect(partsOf({ choices: [{ index: 0, message }] })).toEqual([
      { kind: "text", text: "Yes" },
      { kind: "text", text: "but no" },
      { kind: "toolCall", id: "1", name: "f", args: "{oops" },
    ]);
  });

  test("are found in the OpenAI Responses API: instructions, messages, tool calls and reasoning", () => {
    const input = [
      { role: "user", content: [{ type: "input_text", text: "Hi" }] },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "3" },
    ];
    expect(rolesOf({ instructions: "Be kind.", input })).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
    ]);
    const output = [
      { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello" }] },
    ];
    expect(partsOf({ id: "r", output })).toEqual([
      { kind: "thinking", text: "hm" },
      { kind: "text", text: "Hello" },
    ]);
  });

  test("are found in Anthropic's format: system prompt, thinking, tools and base64 images", () => {
    const value = {
      system: [{ type: "text", text: "Be brief." }],
      messages: [
        {
          role: "user",
          content: [
            { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
            { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "7" }] },
          ],
        },
      ],
    };
    expect(partsOf(value)).toEqual([
      { kind: "text", text: "Be brief." },
      { kind: "image", address: "data:image/png;base64,AAAA" },
      { kind: "toolResult", id: "t", value: [{ type: "text", text: "7" }] },
    ]);
    const response = {
      type: "message",
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "tool_use", id: "t", name: "add", input: { a: 1 } },
      ],
    };
    expect(partsOf(response)).toEqual([
      { kind: "thinking", text: "hm" },
      { kind: "toolCall", id: "t", name: "add", args: { a: 1 } },
    ]);
  });

  test("are found in OpenAI's responses with a text as input, and with tools that OpenAI runs", () => {
    const inputs = { model: "m", instructions: "Be kind.", input: "Hi" };
    expect(partsOf(inputs)).toEqual([
      { kind: "text", text: "Be kind." },
      { kind: "text", text: "Hi" },
    ]);
    const search = { type: "web_search_call", id: "ws", status: "completed" };
    const output = [
      search,
      { type: "custom_tool_call", call_id: "c", name: "f", input: "x" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello" }] },
    ];
    expect(partsOf({ output })).toEqual([
      { kind: "other", value: search },
      { kind: "toolCall", id: "c", name: "f", args: "x" },
      { kind: "text", text: "Hello" },
    ]);
  });

  test("are found in OpenAI's completions of a text", () => {
    expect(partsOf({ model: "m", prompt: "Say" })).toEqual([{ kind: "text", text: "Say" }]);
    expect(partsOf({ choices: [{ index: 0, text: "Hi" }] })).toEqual([
      { kind: "text", text: "Hi" },
    ]);
  });

  test("are found in Ollama's answers, next to counts", () => {
    const outputs = { model: "m", message: { role: "assistant", content: "Hi" }, eval_count: 2 };
    expect(rolesOf(outputs)).toEqual(["assistant"]);
    expect(partsOf(outputs)).toEqual([{ kind: "text", text: "Hi" }]);
    expect(rolesOf({ message: "a text", level: 2 })).toBeUndefined();
  });

  test("are found in Gemini's format: system instruction, thoughts, function calls and images", () => {
    const inputs = {
      systemInstruction: { parts: [{ text: "Be brief." }] },
      contents: [
        {
          role: "user",
          parts: [{ text: "Hi" }, { inlineData: { mimeType: "image/png", data: "AAAA" } }],
        },
        { role: "model", parts: [{ functionCall: { name: "look", args: { at: 1 } } }] },
        { role: "user", parts: [{ functionResponse: { name: "look", response: { seen: 2 } } }] },
      ],
    };
    expect(rolesOf(inputs)).toEqual(["system", "user", "assistant", "user"]);
    expect(partsOf(inputs)).toEqual([
      { kind: "text", text: "Be brief." },
      { kind: "text", text: "Hi" },
      { kind: "image", address: "data:image/png;base64,AAAA" },
      { kind: "toolCall", id: "", name: "look", args: { at: 1 } },
      { kind: "toolResult", id: "look", value: { seen: 2 } },
    ]);
    const missing = { inlineData: { mimeType: "image/png", data: "[image/png, 3 bytes]" } };
    const parts = [{ text: "hm", thought: true }, { text: "Hello" }, missing];
    expect(partsOf({ candidates: [{ content: { role: "model", parts } }] })).toEqual([
      { kind: "thinking", text: "hm" },
      { kind: "text", text: "Hello" },
      { kind: "other", value: missing },
    ]);
  });

  test("are found in LangChain's formats: serialized messages in nested lists, tuples, generations", () => {
    const lc = (kind: string, kwargs: object) => ({
      lc: 1,
      type: "constructor",
      id: ["langchain_core", "messages", kind],
      kwargs,
    });
    const inputs = {
      messages: [
        [
          lc("SystemMessage", { content: "s" }),
          lc("HumanMessage", { content: "h" }),
          lc("AIMessage", { content: "", tool_calls: [{ name: "f", args: { x: 1 }, id: "i" }] }),
          lc("ToolMessage", { content: "r", tool_call_id: "i" }),
        ],
      ],
    };
    expect(rolesOf(inputs)).toEqual(["system", "user", "assistant", "tool"]);
    expect(partsOf(inputs)?.[2]).toEqual({ kind: "toolCall", id: "i", name: "f", args: { x: 1 } });
    const value = lc("ChatPromptValue", { messages: inputs.messages[0] });
    expect(rolesOf({ output: value })).toEqual(["system", "user", "assistant", "tool"]);
    const message = lc("AIMessage", { content: "hello" });
    expect(partsOf({ generations: [[{ text: "hello", message }]] })).toEqual([
      { kind: "text", text: "hello" },
    ]);
    expect(rolesOf([{ type: "human", data: { content: "x" } }])).toEqual(["user"]);
    expect(
      rolesOf({
        messages: [
          ["human", "x"],
          ["ai", "y"],
        ],
      }),
    ).toEqual(["user", "assistant"]);
  });

  test("are found in the AI SDK's format: tool calls and results as parts of messages", () => {
    const prompt = [
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "1", toolName: "f", input: {} }],
      },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "1", result: 4 }] },
    ];
    expect(partsOf({ prompt })).toEqual([
      { kind: "toolCall", id: "1", name: "f", args: {} },
      { kind: "toolResult", id: "1", value: 4 },
    ]);
  });

  test("are not found in other values", () => {
    for (const value of [
      undefined,
      "text",
      7,
      [],
      {},
      { messages: [] },
      { messages: [1, 2] },
      { messages: "no" },
      { role: "admin" },
      { question: "how?" },
      { input: { a: { b: { c: { messages: [{ role: "user", content: "far" }] } } } } },
    ]) {
      expect(toChatMessages(value)).toBeUndefined();
    }
  });
});
