import { describe, expect, test } from "vitest";
import { mapped } from "../../../tests/support/otlp-spans.ts";
import type { EventInit } from "../../../tests/support/otlp-spans.ts";

const inputsOf = (attributes: object, events: readonly EventInit[] = []): unknown =>
  mapped({ attributes, events })["inputs"];
const outputsOf = (attributes: object, events: readonly EventInit[] = []): unknown =>
  mapped({ attributes, events })["outputs"];
const text = (content: string) => ({ type: "text", content });

describe("content in one attribute", () => {
  test.each([
    ["gen_ai.prompt", "gen_ai.completion"],
    ["input.value", "output.value"],
    ["traceloop.entity.input", "traceloop.entity.output"],
    ["gen_ai.tool.call.arguments", "gen_ai.tool.call.result"],
  ])("in %s and %s is inputs and outputs", (input, output) => {
    const attributes = { [input]: '{"city": "Paris"}', [output]: "rain" };
    expect(inputsOf(attributes)).toEqual({ city: "Paris" });
    expect(outputsOf(attributes)).toEqual({ output: "rain" });
  });

  test("that is an object is used unchanged", () => {
    expect(inputsOf({ "gen_ai.tool.call.arguments": { city: "Paris" } })).toEqual({
      city: "Paris",
    });
  });

  test("that is a list of messages becomes messages, any other list a value", () => {
    const messages = [{ role: "user", content: "hi" }];
    expect(inputsOf({ "gen_ai.prompt": JSON.stringify(messages) })).toEqual({ messages });
    expect(inputsOf({ "input.value": "[1, 2]" })).toEqual({ input: [1, 2] });
  });

  test("is read by its MIME type: any kind of JSON, or a text even if it looks like JSON", () => {
    const json = { "input.value": "5", "input.mime_type": "application/json" };
    expect(inputsOf(json)).toEqual({ input: 5 });
    const plain = { "input.value": '{"a":1}', "input.mime_type": "text/plain" };
    expect(inputsOf(plain)).toEqual({ input: '{"a":1}' });
    expect(inputsOf({ "input.value": "5" })).toEqual({ input: "5" });
    expect(inputsOf({ "input.value": "{broken" })).toEqual({ input: "{broken" });
  });

  test("that is not of its MIME type stays a text, with a warning", () => {
    const attributes = { "input.value": "{broken", "input.mime_type": "application/json" };
    expect(mapped({ attributes })).toMatchObject({
      inputs: { input: "{broken" },
      extra: { metadata: { "otel.warnings": ['input.value is not application/json: "{broken"'] } },
    });
  });

  test("of a tool of Anthropic's SDK is a list of blocks", () => {
    const blocks = [{ type: "text", text: "rain" }];
    expect(outputsOf({ "anthropic.tool_result.content": JSON.stringify(blocks) })).toEqual({
      output: blocks,
    });
  });

  test("in a second convention stays in the metadata", () => {
    const run = mapped({ attributes: { "gen_ai.prompt": "a", "input.value": "b" } });
    expect(run).toMatchObject({
      inputs: { input: "a" },
      extra: { metadata: { "input.value": "b" } },
    });
  });

  test("may be in an event", () => {
    const event = { name: "gen_ai.content.prompt", attributes: { "gen_ai.prompt": '{"a": 1}' } };
    expect(inputsOf({}, [event])).toEqual({ a: 1 });
  });
});

describe("messages", () => {
  test("made of parts have their content, tool calls and tool responses", () => {
    const call = { type: "tool_call", id: "c1", name: "weather", arguments: { city: "Paris" } };
    const messages = [
      { role: "user", parts: [text("Weather?")] },
      { role: "assistant", parts: [call] },
      { role: "tool", parts: [{ type: "tool_call_response", id: "c1", response: "rain" }] },
      { role: "user", parts: [text("a"), { type: "blob", content: "AQI=" }] },
    ];
    expect(inputsOf({ "gen_ai.input.messages": JSON.stringify(messages) })).toEqual({
      messages: [
        { role: "user", content: "Weather?" },
        {
          role: "assistant",
          content: "",
          tool_calls: [
            {
              id: "c1",
              type: "function",
              function: { name: "weather", arguments: '{"city":"Paris"}' },
            },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: "rain" },
        {
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "blob", content: "AQI=" },
          ],
        },
      ],
    });
  });

  test("may be structured values, and keep their other members", () => {
    const messages = [{ role: "assistant", parts: [text("rain")], finish_reason: "stop" }];
    expect(outputsOf({ "gen_ai.output.messages": messages })).toEqual({
      messages: [{ role: "assistant", content: "rain", finish_reason: "stop" }],
    });
  });

  test("come after the system instructions", () => {
    const attributes = {
      "gen_ai.system_instructions": JSON.stringify([text("Be brief.")]),
      "gen_ai.input.messages": JSON.stringify([{ role: "user", parts: [text("hi")] }]),
    };
    expect(inputsOf(attributes)).toEqual({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "hi" },
      ],
    });
    expect(inputsOf({ "gen_ai.system_instructions": "Be brief." })).toEqual({
      messages: [{ role: "system", content: "Be brief." }],
    });
    expect(mapped({ attributes: { "gen_ai.system_instructions": "[{" } })).toMatchObject({
      inputs: { messages: [{ role: "system", content: "[{" }] },
      extra: { metadata: { "otel.warnings": ['gen_ai.system_instructions is not JSON: "[{"'] } },
    });
  });

  test("in indexed names are ordered by index, not by name", () => {
    const attributes: Record<string, unknown> = {};
    for (const index of [10, 2, 0, 1]) {
      attributes[`gen_ai.prompt.${index}.role`] = "user";
      attributes[`gen_ai.prompt.${index}.content`] = String(index);
    }
    const { messages } = inputsOf(attributes) as { messages: { content: string }[] };
    expect(messages.map(({ content }) => content)).toEqual(["0", "1", "2", "10"]);
  });

  test("in indexed names include tool calls", () => {
    const attributes = {
      "gen_ai.completion.0.role": "assistant",
      "gen_ai.completion.0.finish_reason": "tool_calls",
      "gen_ai.completion.0.tool_calls.0.id": "c1",
      "gen_ai.completion.0.tool_calls.0.name": "weather",
      "gen_ai.completion.0.tool_calls.0.arguments": "{}",
    };
    expect(outputsOf(attributes)).toEqual({
      messages: [
        {
          role: "assistant",
          finish_reason: "tool_calls",
          tool_calls: [
            { id: "c1", type: "function", function: { name: "weather", arguments: "{}" } },
          ],
        },
      ],
    });
  });

  test("of OpenInference lose their prefixes", () => {
    const attributes = {
      "llm.input_messages.0.message.role": "user",
      "llm.input_messages.0.message.contents.0.message_content.type": "text",
      "llm.input_messages.0.message.contents.0.message_content.text": "What is it?",
      "llm.input_messages.0.message.contents.1.message_content.type": "image",
      "llm.input_messages.0.message.contents.1.message_content.image.image.url": "data:,",
      "llm.input_messages.1.message.role": "assistant",
      "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "look",
      "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": "{}",
    };
    expect(inputsOf(attributes)).toEqual({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is it?" },
            { type: "image_url", image_url: { url: "data:," } },
          ],
        },
        {
          role: "assistant",
          tool_calls: [{ type: "function", function: { name: "look", arguments: "{}" } }],
        },
      ],
    });
  });

  test("replace those in the single attribute, whose other members stay", () => {
    const attributes = {
      "input.value": '{"model": "gpt-4", "messages": [{"role": "user", "content": "raw"}]}',
      "llm.input_messages.0.message.role": "user",
      "llm.input_messages.0.message.content": "hi",
    };
    expect(inputsOf(attributes)).toEqual({
      model: "gpt-4",
      messages: [{ role: "user", content: "hi" }],
    });
  });

  test("may be in several events", () => {
    const events = [
      { name: "gen_ai.system.message", attributes: { content: "Be brief." } },
      { name: "gen_ai.user.message", attributes: { "gen_ai.event.content": '{"content": "hi"}' } },
      {
        name: "gen_ai.choice",
        attributes: { index: 0, finish_reason: "stop", message: '{"content": "rain"}' },
      },
    ];
    expect(inputsOf({}, events)).toEqual({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "hi" },
      ],
    });
    expect(outputsOf({}, events)).toEqual({
      messages: [{ role: "assistant", content: "rain", index: 0, finish_reason: "stop" }],
    });
  });

  test("may be in the event that describes the whole operation", () => {
    const messages = JSON.stringify([{ role: "assistant", parts: [text("rain")] }]);
    const event = {
      name: "gen_ai.client.inference.operation.details",
      attributes: { "gen_ai.output.messages": messages },
    };
    expect(outputsOf({}, [event])).toEqual({
      messages: [{ role: "assistant", content: "rain" }],
    });
  });

  test("have a text of reasoning, whichever member contains it", () => {
    const parts = [{ type: "reasoning", content: "hm" }, text("rain")];
    const messages = JSON.stringify([{ role: "assistant", parts }]);
    expect(outputsOf({ "gen_ai.output.messages": messages })).toEqual({
      messages: [
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hm" },
            { type: "text", text: "rain" },
          ],
        },
      ],
    });
  });

  test.each([
    [{ "gen_ai.response.finish_reasons": ["stop", "length"] }, ["stop", "length"]],
    [{ "gen_ai.response.finish_reason": "stop" }, ["stop", undefined]],
    [{ "anthropic.message.stop_reason": "end_turn" }, ["end_turn", undefined]],
    [{ "llm.response.stop_reason": "end_turn" }, ["end_turn", undefined]],
    [{ "llm.finish_reason": "stop" }, ["stop", undefined]],
  ])("get the finish reasons of %j", (attributes, reasons) => {
    const messages = ["a", "b"].map((content) => ({ role: "assistant", parts: [text(content)] }));
    const run = mapped({ attributes: { ...attributes, "gen_ai.output.messages": messages } });
    const outputs = run["outputs"] as { messages: { finish_reason?: string }[] };
    expect(outputs.messages.map(({ finish_reason: reason }) => reason)).toEqual(reasons);
    expect(run).toMatchObject({ extra: { metadata: attributes } });
  });

  test("keep their own finish reasons, and other messages get none", () => {
    const attributes = {
      "gen_ai.response.finish_reasons": ["length", "length"],
      "gen_ai.output.messages": [
        { role: "assistant", parts: [text("a")], finish_reason: "stop" },
        { role: "tool", parts: [text("b")] },
      ],
    };
    expect(outputsOf(attributes)).toEqual({
      messages: [
        { role: "assistant", content: "a", finish_reason: "stop" },
        { role: "tool", content: "b" },
      ],
    });
  });

  test.each([["[{"], ["plain text"], ["5"], ["[1]"]])(
    "that are %j stay visible, with a warning",
    (value) => {
      const run = mapped({ attributes: { "gen_ai.input.messages": value } });
      expect(JSON.stringify(run["inputs"])).toContain(JSON.stringify(value).slice(2, -2));
      expect(run).toMatchObject({
        extra: {
          metadata: {
            "otel.warnings": [
              `gen_ai.input.messages is not a JSON list of messages: ${JSON.stringify(value)}`,
            ],
          },
        },
      });
    },
  );

  test("nested too deeply become a text", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const { messages } = inputsOf({ "gen_ai.input.messages": deep }) as { messages: unknown[] };
    expect(messages).toEqual([{ type: "text", content: deep }]);
  });
});

test("documents of a retriever are outputs, those of a reranker are inputs and outputs", () => {
  const attributes = {
    "retrieval.documents.0.document.id": "d1",
    "retrieval.documents.0.document.content": "rain",
    "retrieval.documents.0.document.score": 0.5,
    "retrieval.documents.0.document.metadata": '{"source": "a"}',
  };
  expect(outputsOf(attributes)).toEqual({
    documents: [
      { type: "Document", page_content: "rain", metadata: { source: "a" }, id: "d1", score: 0.5 },
    ],
  });
  const reranker = {
    "reranker.query": "weather",
    "reranker.input_documents.0.document.content": "a",
    "reranker.output_documents.0.document.content": "b",
  };
  const document = (content: string) => ({ type: "Document", page_content: content, metadata: {} });
  expect(inputsOf(reranker)).toEqual({ query: "weather", documents: [document("a")] });
  expect(outputsOf(reranker)).toEqual({ documents: [document("b")] });
});

describe("a retrieval of the semantic conventions", () => {
  const documents = [
    { id: "d1", score: 0.5, content: "rain", metadata: { source: "a" } },
    { id: "d2", score: 0.25 },
  ];

  test.each([[documents], [JSON.stringify(documents)]])(
    "has its query as inputs, and documents like other retrievers as outputs: %j",
    (value) => {
      const attributes = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": "weather",
        "gen_ai.retrieval.documents": value,
      };
      const run = mapped({ attributes });
      expect(run).toMatchObject({ run_type: "retriever", inputs: { query: "weather" } });
      expect(run["outputs"]).toEqual({
        documents: [
          {
            type: "Document",
            page_content: "rain",
            metadata: { source: "a" },
            id: "d1",
            score: 0.5,
          },
          { type: "Document", page_content: "", metadata: {}, id: "d2", score: 0.25 },
        ],
      });
      const { metadata } = run["extra"] as { metadata: object };
      expect(Object.keys(metadata).filter((name) => name.startsWith("gen_ai.retrieval"))).toEqual(
        [],
      );
    },
  );

  test.each([["[{"], ["[1]"], ["{}"], [5]])(
    "with the documents %j has them in the metadata, with a warning",
    (value) => {
      const run = mapped({ attributes: { "gen_ai.retrieval.documents": value } });
      expect(run).not.toHaveProperty("outputs");
      expect(run).toMatchObject({
        extra: {
          metadata: {
            "gen_ai.retrieval.documents": value,
            "otel.warnings": [
              `gen_ai.retrieval.documents is not a list of documents: ${JSON.stringify(value)}`,
            ],
          },
        },
      });
    },
  );
});

test("embeddings have the input texts as inputs and the vectors as outputs", () => {
  const attributes = {
    "embedding.embeddings.0.embedding.text": "a",
    "embedding.embeddings.0.embedding.vector": [0.5, 1.5],
  };
  expect(inputsOf(attributes)).toEqual({ texts: ["a"] });
  expect(outputsOf(attributes)).toEqual({ embeddings: [[0.5, 1.5]] });
});

test("a name that conflicts with an indexed one stays in the metadata", () => {
  const attributes = {
    "gen_ai.prompt.0.content": "hi",
    "gen_ai.prompt.0.content.extra": "x",
    "gen_ai.prompt.first.content": "no index",
  };
  const run = mapped({ attributes });
  expect(run).toMatchObject({
    inputs: { messages: [{ content: "hi" }] },
    extra: {
      metadata: {
        "gen_ai.prompt.0.content.extra": "x",
        "gen_ai.prompt.first.content": "no index",
      },
    },
  });
});

test("an index of any size creates only one message", () => {
  const { messages } = inputsOf({ "gen_ai.prompt.900000000.content": "hi" }) as {
    messages: unknown[];
  };
  expect(messages).toEqual([{ content: "hi" }]);
});
