import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { OtlpConvention } from "../../src/model/options/otlp-options.ts";
import type { WirePatch } from "../../src/model/run.ts";
import { JsonWriter } from "../../src/workers/json/json-writer.ts";
import { joinRecords } from "../../src/workers/json/operations.ts";
import { RunJson } from "../../src/workers/json/run-json.ts";
import { TapeReader } from "../../src/workers/json/tape-reader.ts";
import { SpanEncoder } from "../../src/workers/otlp/span-encoder.ts";
import { AttributeBag } from "../../src/workers/spans/attribute-bag.ts";
import { takeTags } from "../../src/workers/spans/metadata.ts";
import type { Attributes } from "../../src/workers/spans/span.ts";
import { decodeSpans } from "../support/otlp-collector.ts";
import type { CollectedSpan } from "../support/otlp-collector.ts";
import { runId, tapeOf } from "../support/run-batch.ts";

const runtime = {
  sdk: "millrace",
  sdk_version: "1.2.3",
  runtime: "node",
  runtime_version: "v20",
  platform: "linux",
};

/** Encodes runs, which have ended, and decodes the result. */
function encode(
  runs: readonly WirePatch[],
  convention: OtlpConvention = "gen_ai",
): readonly CollectedSpan[] {
  const records = runs.map((run, index) => ({
    id: runId(index + 1),
    run: { start_time: 1_700_000_000_000, end_time: 1_700_000_001_000, ...run },
  }));
  const { memory, usedBytes } = tapeOf(records);
  const reader = new TapeReader(memory, usedBytes);
  const json = new RunJson(reader, Buffer.from(JSON.stringify(runtime)));
  const encoder = new SpanEncoder({ convention, projectName: "p" }, runtime);
  const out = new JsonWriter(Buffer.alloc(16));
  encoder.writeRequest(out, json, joinRecords(reader));
  return decodeSpans(out.bytes.subarray(0, out.length));
}

/** The attributes of one run, with those in JSON parsed. */
function attributesOf(run: WirePatch, convention: OtlpConvention = "gen_ai") {
  const [span] = encode([run], convention);
  return Object.fromEntries(
    Object.entries(span?.attributes ?? {}).map(([name, value]) => [name, parse(value)]),
  );
}

/** Parses a text that looks like JSON. */
function parse(value: unknown): unknown {
  try {
    return typeof value === "string" && /^[[{]/.test(value) ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

const openai: WirePatch = {
  name: "ChatOpenAI",
  run_type: "llm",
  inputs: {
    model: "gpt-5",
    temperature: 1,
    max_completion_tokens: 100,
    stop: ["END"],
    messages: [
      { role: "system", content: "Be short." },
      { role: "user", content: [{ type: "text", text: "Rain?" }] },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "c0", type: "function", function: { name: "weather", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "c0", content: "dry" },
    ],
    tools: [{ type: "function", function: { name: "weather" } }],
  },
  outputs: {
    id: "chatcmpl-1",
    model: "gpt-5-2026",
    choices: [
      {
        finish_reason: "tool_calls",
        message: {
          role: "assistant",
          content: "Looking",
          tool_calls: [
            {
              id: "c1",
              type: "function",
              function: { name: "weather", arguments: '{"city":"Bern"}' },
            },
            { id: "c2", type: "function", function: { name: "broken", arguments: '{"city":' } },
          ],
        },
      },
    ],
    usage: {
      prompt_tokens: 120,
      completion_tokens: 30,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 100 },
      completion_tokens_details: { reasoning_tokens: 8 },
    },
  },
  extra: {
    metadata: {
      ls_provider: "openai",
      ls_model_name: "gpt-5",
      thread_id: "chat 1",
      user_id: "user 1",
    },
  },
  tags: ["a", "b"],
};

const anthropic: WirePatch = {
  name: "Anthropic",
  run_type: "llm",
  inputs: {
    model: "claude-haiku-4-5",
    system: "Be short.",
    max_tokens: 100,
    messages: [
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t0", content: "dry" }] },
    ],
  },
  outputs: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-haiku-4-5-2026",
    content: [
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "No." },
      { type: "tool_use", id: "t1", name: "weather", input: { city: "Bern" } },
    ],
    stop_reason: "tool_use",
    usage: {
      input_tokens: 10,
      output_tokens: 5,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 20,
    },
  },
  extra: { metadata: { ls_provider: "anthropic" } },
};

const gemini: WirePatch = {
  name: "Gemini",
  run_type: "llm",
  inputs: {
    model: "gemini-3",
    systemInstruction: { parts: [{ text: "Be short." }] },
    contents: [{ role: "user", parts: [{ text: "Rain?" }] }],
  },
  outputs: {
    modelVersion: "gemini-3-001",
    responseId: "r1",
    candidates: [
      {
        finishReason: "STOP",
        content: {
          role: "model",
          parts: [
            { text: "hm", thought: true },
            { text: "No." },
            { functionCall: { name: "f", args: { a: 1 } } },
          ],
        },
      },
    ],
    usageMetadata: {
      promptTokenCount: 7,
      toolUsePromptTokenCount: 2,
      candidatesTokenCount: 2,
      totalTokenCount: 14,
      thoughtsTokenCount: 3,
    },
  },
  extra: { metadata: { ls_provider: "google_genai" } },
};

const responses: WirePatch = {
  name: "Responses",
  run_type: "llm",
  inputs: {
    model: "gpt-5",
    instructions: "Be short.",
    input: [
      { role: "user", content: [{ type: "input_text", text: "Rain?" }] },
      { type: "function_call_output", call_id: "c0", output: "dry" },
    ],
  },
  outputs: {
    id: "resp_1",
    output: [
      { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "No." }] },
      { type: "function_call", call_id: "c1", name: "f", arguments: '{"a":1}' },
    ],
    usage: { input_tokens: 4, output_tokens: 2, output_tokens_details: { reasoning_tokens: 1 } },
  },
};

const langchain: WirePatch = {
  name: "ChatModel",
  run_type: "llm",
  inputs: {
    messages: [
      [
        {
          lc: 1,
          type: "constructor",
          id: ["langchain_core", "messages", "HumanMessage"],
          kwargs: { content: "Rain?" },
        },
      ],
    ],
  },
  outputs: {
    generations: [
      [
        {
          text: "No.",
          message: {
            lc: 1,
            id: ["x", "AIMessage"],
            kwargs: { content: "No.", tool_calls: [{ id: "c1", name: "f", args: { a: 1 } }] },
          },
        },
      ],
    ],
  },
};

describe("gen_ai", () => {
  test("describes a call of OpenAI's chat API", () => {
    expect(attributesOf(openai)).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-5",
      "gen_ai.request.temperature": 1,
      "gen_ai.request.max_tokens": 100,
      "gen_ai.request.stop_sequences": ["END"],
      "gen_ai.tool.definitions": [{ type: "function", function: { name: "weather" } }],
      "gen_ai.response.model": "gpt-5-2026",
      "gen_ai.response.id": "chatcmpl-1",
      "gen_ai.response.finish_reasons": ["tool_calls"],
      "gen_ai.usage.input_tokens": 120,
      "gen_ai.usage.output_tokens": 30,
      "gen_ai.usage.cache_read.input_tokens": 100,
      "gen_ai.usage.reasoning.output_tokens": 8,
      "gen_ai.conversation.id": "chat 1",
      "user.id": "user 1",
      "langsmith.span.tags": "a,b",
      "gen_ai.input.messages": [
        { role: "system", parts: [{ type: "text", content: "Be short." }] },
        { role: "user", parts: [{ type: "text", content: "Rain?" }] },
        {
          role: "assistant",
          parts: [{ type: "tool_call", id: "c0", name: "weather", arguments: {} }],
        },
        { role: "tool", parts: [{ type: "tool_call_response", id: "c0", response: "dry" }] },
      ],
      "gen_ai.output.messages": [
        {
          role: "assistant",
          finish_reason: "tool_calls",
          parts: [
            { type: "text", content: "Looking" },
            { type: "tool_call", id: "c1", name: "weather", arguments: { city: "Bern" } },
            { type: "tool_call", id: "c2", name: "broken", arguments: '{"city":' },
          ],
        },
      ],
    });
  });

  test("describes a call of Anthropic's API, with cached tokens within the input tokens", () => {
    expect(attributesOf(anthropic)).toMatchObject({
      "gen_ai.system_instructions": [{ type: "text", content: "Be short." }],
      "gen_ai.usage.input_tokens": 130,
      "gen_ai.usage.output_tokens": 5,
      "gen_ai.usage.cache_read.input_tokens": 100,
      "gen_ai.usage.cache_write.input_tokens": 20,
      "gen_ai.response.finish_reasons": ["tool_use"],
      "gen_ai.input.messages": [
        { role: "user", parts: [{ type: "tool_call_response", id: "t0", response: "dry" }] },
      ],
      "gen_ai.output.messages": [
        {
          role: "assistant",
          parts: [
            { type: "reasoning", content: "hm" },
            { type: "text", content: "No." },
            { type: "tool_call", id: "t1", name: "weather", arguments: { city: "Bern" } },
          ],
        },
      ],
    });
  });

  test("describes a call of Gemini's API", () => {
    expect(attributesOf(gemini)).toMatchObject({
      "gen_ai.provider.name": "gcp.gemini",
      "gen_ai.response.model": "gemini-3-001",
      "gen_ai.response.id": "r1",
      "gen_ai.response.finish_reasons": ["STOP"],
      "gen_ai.system_instructions": [{ type: "text", content: "Be short." }],
      "gen_ai.input.messages": [{ role: "user", parts: [{ type: "text", content: "Rain?" }] }],
      "gen_ai.output.messages": [
        {
          role: "assistant",
          parts: [
            { type: "reasoning", content: "hm" },
            { type: "text", content: "No." },
            { type: "tool_call", name: "f", arguments: { a: 1 } },
          ],
        },
      ],
      // Gemini's API counts thoughts beside the candidates, and the results of its own tools beside the prompt.
      "gen_ai.usage.input_tokens": 9,
      "gen_ai.usage.output_tokens": 5,
      "gen_ai.usage.reasoning.output_tokens": 3,
    });
  });

  test("describes a call of OpenAI's Responses API", () => {
    expect(attributesOf(responses)).toMatchObject({
      "gen_ai.system_instructions": [{ type: "text", content: "Be short." }],
      "gen_ai.input.messages": [
        { role: "user", parts: [{ type: "text", content: "Rain?" }] },
        { role: "tool", parts: [{ type: "tool_call_response", id: "c0", response: "dry" }] },
      ],
      "gen_ai.output.messages": [
        { role: "assistant", parts: [{ type: "reasoning", content: "hm" }] },
        { role: "assistant", parts: [{ type: "text", content: "No." }] },
        {
          role: "assistant",
          parts: [{ type: "tool_call", id: "c1", name: "f", arguments: { a: 1 } }],
        },
      ],
      "gen_ai.usage.reasoning.output_tokens": 1,
    });
  });

  test("describes a model of LangChain", () => {
    expect(attributesOf(langchain)).toMatchObject({
      "gen_ai.input.messages": [{ role: "user", parts: [{ type: "text", content: "Rain?" }] }],
      "gen_ai.output.messages": [
        {
          role: "assistant",
          parts: [
            { type: "text", content: "No." },
            { type: "tool_call", id: "c1", name: "f", arguments: { a: 1 } },
          ],
        },
      ],
    });
  });

  test("describes a tool, whose inputs and outputs are sent once", () => {
    const attributes = attributesOf({
      name: "weather",
      run_type: "tool",
      inputs: { city: "Bern" },
      outputs: { rain: false },
    });
    expect(attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "weather",
      "gen_ai.tool.call.arguments": { city: "Bern" },
      "gen_ai.tool.call.result": { rain: false },
    });
    expect(attributes).not.toHaveProperty("input.value");
    expect(attributes).not.toHaveProperty("output.value");
  });

  test.each([
    [{ langfuse_session_id: "c", langfuse_user_id: "u" }, "c", "u"],
    [{ thread_id: "t", langfuse_session_id: "c", user_id: "v", langfuse_user_id: "u" }, "t", "v"],
    // As for a server of Millrace, whose list of threads has the run under the same id.
    [{ thread_id: "t", session_id: "s", user_id: "v" }, "s", "v"],
  ])("describes the thread and the user that the metadata %j names", (metadata, thread, user) => {
    const run = { name: "chain", run_type: "chain", extra: { metadata } };
    expect(attributesOf(run)).toMatchObject({
      "gen_ai.conversation.id": thread,
      "user.id": user,
    });
    expect(attributesOf(run, "openinference")).toMatchObject({
      "session.id": thread,
      "user.id": user,
    });
  });

  test("a run of another type has no attributes of a model", () => {
    const attributes = attributesOf({
      name: "chain",
      run_type: "chain",
      inputs: { messages: [] },
      outputs: {},
    });
    expect(Object.keys(attributes).filter((name) => name.startsWith("gen_ai."))).toEqual([]);
    expect(attributes).toMatchObject({
      "input.value": { messages: [] },
      "input.mime_type": "application/json",
    });
  });
});

describe("openinference", () => {
  test("describes a call of OpenAI's chat API", () => {
    expect(attributesOf(openai, "openinference")).toMatchObject({
      "openinference.span.kind": "LLM",
      "llm.model_name": "gpt-5-2026",
      "llm.provider": "openai",
      "llm.invocation_parameters": { temperature: 1, max_completion_tokens: 100, stop: ["END"] },
      "llm.token_count.prompt": 120,
      "llm.token_count.completion": 30,
      "llm.token_count.total": 150,
      "llm.token_count.prompt_details.cache_read": 100,
      "llm.token_count.completion_details.reasoning": 8,
      "llm.input_messages.0.message.role": "system",
      "llm.input_messages.1.message.content": "Rain?",
      "llm.input_messages.2.message.tool_calls.0.tool_call.function.name": "weather",
      "llm.input_messages.3.message.tool_call_id": "c0",
      "llm.input_messages.3.message.content": "dry",
      "llm.output_messages.0.message.content": "Looking",
      "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
      "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": { city: "Bern" },
      "llm.tools.0.tool.json_schema": { type: "function", function: { name: "weather" } },
      "session.id": "chat 1",
      "user.id": "user 1",
      "tag.tags": ["a", "b"],
      metadata: {
        ls_provider: "openai",
        ls_model_name: "gpt-5",
        thread_id: "chat 1",
        user_id: "user 1",
      },
      "input.value": openai.inputs,
      "output.value": openai.outputs,
    });
  });

  test("describes instructions, parts and tools of Anthropic's API", () => {
    expect(attributesOf(anthropic, "openinference")).toMatchObject({
      "llm.input_messages.0.message.role": "system",
      "llm.input_messages.0.message.content": "Be short.",
      "llm.output_messages.0.message.contents.0.message_content.type": "reasoning",
      "llm.output_messages.0.message.contents.1.message_content.text": "No.",
      "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
    });
  });

  test("describes tools, retrievers and spans without errors", () => {
    const [tool, retriever] = encode(
      [
        { name: "weather", run_type: "tool", inputs: { city: "Bern" } },
        {
          name: "search",
          run_type: "retriever",
          outputs: {
            documents: [{ page_content: "dry", metadata: { source: "x" }, id: "d1", score: 1 }],
          },
        },
      ],
      "openinference",
    );
    expect(tool).toMatchObject({
      status: { code: "STATUS_CODE_OK" },
      attributes: {
        "openinference.span.kind": "TOOL",
        "tool.name": "weather",
        "tool.parameters": '{"city":"Bern"}',
      },
    });
    expect(retriever?.attributes).toMatchObject({
      "openinference.span.kind": "RETRIEVER",
      "retrieval.documents.0.document.content": "dry",
      "retrieval.documents.0.document.id": "d1",
      "retrieval.documents.0.document.score": 1,
      "retrieval.documents.0.document.metadata": '{"source":"x"}',
    });
  });
});

describe("images", () => {
  const png = "iVBORw0KGgo=";
  const address = "https://images.example/rain.png";
  const blob = { type: "blob", modality: "image", mime_type: "image/png", content: png };
  const dataUrl = `data:image/png;base64,${png}`;
  const uri = { type: "uri", modality: "image", uri: address };
  const typedUri = { type: "uri", modality: "image", mime_type: "image/png", uri: address };

  /** The inputs of each API with one image. */
  const forms: readonly (readonly [form: string, part: object, genAi: object, url: string])[] = [
    ["OpenAI chat, base64", { type: "image_url", image_url: { url: dataUrl } }, blob, dataUrl],
    [
      "OpenAI chat, URL",
      { type: "image_url", image_url: { url: address, detail: "low" } },
      uri,
      address,
    ],
    ["OpenAI chat, text", { type: "image_url", image_url: address }, uri, address],
    ["OpenAI Responses, base64", { type: "input_image", image_url: dataUrl }, blob, dataUrl],
    ["OpenAI Responses, URL", { type: "input_image", image_url: address }, uri, address],
    [
      "Anthropic, base64",
      { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
      blob,
      dataUrl,
    ],
    ["Anthropic, URL", { type: "image", source: { type: "url", url: address } }, uri, address],
    ["Gemini, base64", { inlineData: { mimeType: "image/png", data: png } }, blob, dataUrl],
    [
      "Gemini, base64 in snake case",
      { inline_data: { mime_type: "image/png", data: png } },
      blob,
      dataUrl,
    ],
    ["Gemini, URL", { fileData: { mimeType: "image/png", fileUri: address } }, typedUri, address],
    ["LangChain, base64", { type: "image", mimeType: "image/png", data: png }, blob, dataUrl],
    ["LangChain, URL", { type: "image", url: address }, uri, address],
    [
      "a data URL with parameters",
      { type: "image_url", image_url: { url: `data:image/png;a=b;base64,${png}` } },
      blob,
      dataUrl,
    ],
    [
      "a data URL without base64",
      { type: "image_url", image_url: { url: "data:image/svg+xml,%3Csvg/%3E" } },
      { type: "uri", modality: "image", uri: "data:image/svg+xml,%3Csvg/%3E" },
      "data:image/svg+xml,%3Csvg/%3E",
    ],
  ];

  const withParts = (parts: readonly unknown[], name: string): WirePatch => ({
    name: "look",
    run_type: "llm",
    inputs: name.startsWith("Gemini")
      ? { contents: [{ role: "user", parts }] }
      : { messages: [{ role: "user", content: parts }] },
  });

  test.each(forms)("of %s are parts of the conventions", (name, part, genAi, url) => {
    const run = withParts([{ type: "text", text: "What is it?" }, part], name);
    expect(attributesOf(run)["gen_ai.input.messages"]).toEqual([
      { role: "user", parts: [{ type: "text", content: "What is it?" }, genAi] },
    ]);
    const attributes = attributesOf(run, "openinference");
    const path = "llm.input_messages.0.message.contents";
    const contents = Object.entries(attributes).filter(([key]) => key.startsWith(path));
    expect(Object.fromEntries(contents)).toEqual({
      [`${path}.0.message_content.type`]: "text",
      [`${path}.0.message_content.text`]: "What is it?",
      [`${path}.1.message_content.type`]: "image",
      [`${path}.1.message_content.image.image.url`]: url,
    });
  });

  test("that are all of a message are no text", () => {
    const run = withParts([{ type: "input_image", image_url: address }], "OpenAI Responses");
    const attributes = attributesOf(run, "openinference");
    const path = "llm.input_messages.0.message";
    expect(attributes).toMatchObject({
      [`${path}.contents.0.message_content.type`]: "image",
      [`${path}.contents.0.message_content.image.image.url`]: address,
    });
    expect(attributes).not.toHaveProperty([`${path}.content`]);
  });

  test("in place of messages, as Gemini's API accepts them, are messages of the user", () => {
    const run: WirePatch = {
      name: "look",
      run_type: "llm",
      inputs: {
        contents: [{ text: "What is it?" }, { inlineData: { mimeType: "image/png", data: png } }],
      },
    };
    expect(attributesOf(run)["gen_ai.input.messages"]).toEqual([
      { role: "user", parts: [{ type: "text", content: "What is it?" }] },
      { role: "user", parts: [blob] },
    ]);
  });

  test("that a model returned are parts of its message", () => {
    const run: WirePatch = {
      name: "draw",
      run_type: "llm",
      outputs: {
        candidates: [
          {
            content: {
              role: "model",
              parts: [{ inlineData: { mimeType: "image/png", data: png } }],
            },
          },
        ],
      },
    };
    expect(attributesOf(run)["gen_ai.output.messages"]).toEqual([
      { role: "assistant", parts: [blob] },
    ]);
    expect(attributesOf(run, "openinference")).toMatchObject({
      "llm.output_messages.0.message.contents.0.message_content.image.image.url": dataUrl,
    });
  });

  test.each([
    [{ type: "input_image", file_id: "file-1" }],
    [{ type: "image", source: { type: "file", file_id: "file_1" } }],
    [{ type: "image_url" }],
    [{ inlineData: { mimeType: "audio/wav", data: "UklG" } }],
    [{ fileData: { mimeType: "application/pdf", fileUri: "gs://a/b.pdf" } }],
    [{ type: "input_audio", input_audio: { data: "UklG", format: "wav" } }],
  ])("are not what has no address, or is no image: %j", (part) => {
    const run = withParts([part, { type: "text", text: "?" }], "");
    expect(attributesOf(run)["gen_ai.input.messages"]).toEqual([
      { role: "user", parts: [part, { type: "text", content: "?" }] },
    ]);
    expect(attributesOf(run, "openinference")).toMatchObject({
      "llm.input_messages.0.message.contents.0.message_content.text": part,
    });
  });
});

describe("costs", () => {
  const costOf = (usage: object, metadata: object = {}) => {
    const run: WirePatch = {
      name: "call",
      run_type: "llm",
      outputs: { usage_metadata: { input_tokens: 1, ...usage } },
      extra: { metadata: { usage_metadata: metadata } },
    };
    const select = (convention: OtlpConvention) =>
      Object.fromEntries(
        Object.entries(attributesOf(run, convention)).filter(([name]) => name.includes("cost")),
      );
    return { genAi: select("gen_ai"), openInference: select("openinference") };
  };

  test("are those that the usage metadata of the run reports", () => {
    expect(costOf({ input_cost: 0.25, output_cost: 1, total_cost: 1.5 })).toEqual({
      genAi: { "gen_ai.usage.cost": 1.5 },
      openInference: {
        "llm.cost.prompt": 0.25,
        "llm.cost.completion": 1,
        "llm.cost.total": 1.5,
      },
    });
  });

  test("are also read from the metadata of the run, if the outputs report only tokens", () => {
    expect(costOf({}, { total_cost: 2 })).toEqual({
      genAi: { "gen_ai.usage.cost": 2 },
      openInference: { "llm.cost.total": 2 },
    });
  });

  test("have a total if both parts are reported", () => {
    expect(costOf({ input_cost: 0.1, output_cost: 0.2 })).toEqual({
      genAi: { "gen_ai.usage.cost": 0.3 },
      openInference: {
        "llm.cost.prompt": 0.1,
        "llm.cost.completion": 0.2,
        "llm.cost.total": 0.3,
      },
    });
    expect(costOf({ input_cost: 0.1 }).genAi).toEqual({});
  });

  test("of zero are sent, and values that are no numbers are not", () => {
    expect(costOf({ total_cost: 0, input_cost: "much" })).toEqual({
      genAi: { "gen_ai.usage.cost": 0 },
      openInference: { "llm.cost.total": 0 },
    });
  });
});

test("embeddings have a model, texts and tokens, but no messages", () => {
  const run: WirePatch = {
    name: "embed",
    run_type: "embedding",
    inputs: { model: "embed-1", input: ["a", "b"] },
    outputs: { model: "embed-1-001", output: [[0.1]], usage: { prompt_tokens: 2 } },
  };
  const openInference = attributesOf(run, "openinference");
  expect(openInference).toMatchObject({
    "openinference.span.kind": "EMBEDDING",
    "embedding.model_name": "embed-1",
    "embedding.embeddings.0.embedding.text": "a",
    "embedding.embeddings.1.embedding.text": "b",
    "llm.token_count.prompt": 2,
  });
  const genAi = attributesOf(run);
  expect(genAi).toMatchObject({
    "gen_ai.operation.name": "embeddings",
    "gen_ai.request.model": "embed-1",
    "gen_ai.usage.input_tokens": 2,
  });
  const names = [...Object.keys(openInference), ...Object.keys(genAi)];
  expect(names.filter((name) => name.includes("messages"))).toEqual([]);
});

test.each([
  [["a", "b"], "a,b"],
  [
    ["a,b", "c"],
    ["a,b", "c"],
  ],
  [
    ["[1]", "c"],
    ["[1]", "c"],
  ],
  [
    ["a", " b"],
    ["a", " b"],
  ],
])(
  "the tags %j are a text with commas, or a list where it would be read otherwise",
  (tags, sent) => {
    const run = { name: "run", tags };
    expect(encode([run])[0]?.attributes["langsmith.span.tags"]).toEqual(sent);
  },
);

test("a receiver reads the tags of a span as they were", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(
        fc.string({ minLength: 1, unit: fc.constantFrom("a", " ", ",", "[", "]", '"', "1") }),
        {
          minLength: 1,
        },
      ),
      fc.constantFrom<OtlpConvention>("gen_ai", "openinference"),
      (tags, convention) => {
        const attributes = encode([{ name: "run", tags }], convention)[0]?.attributes ?? {};
        const received = new AttributeBag(
          new Map(Object.entries(attributes)) as unknown as Attributes,
        );
        expect(takeTags(received)).toEqual(tags);
      },
    ),
    { numRuns: 200 },
  );
});

test("events and links of a run become those of the span", () => {
  const link = {
    trace_id: "a".repeat(32),
    span_id: "b".repeat(16),
    attributes: { reason: "retry" },
  };
  const [span] = encode([
    {
      name: "run",
      events: [
        {
          name: "new_token",
          time: "2023-11-14T22:13:20.123456Z",
          kwargs: { token: "a", nested: { b: 1 } },
        },
        { name: "without a time", detail: true },
      ] as never,
      extra: { links: [link, { trace_id: "short" }, null] },
    },
  ]);
  expect(span?.events).toEqual([
    {
      name: "new_token",
      nanos: 1_700_000_000_123_456_000n,
      attributes: { token: "a", nested: '{"b":1}' },
    },
    { name: "without a time", nanos: 1_700_000_000_000_000_000n, attributes: { detail: true } },
  ]);
  expect(span?.links).toEqual([
    { traceId: link.trace_id, spanId: link.span_id, attributes: link.attributes },
  ]);
});

test.each([
  ["2023-11-14T22:13:20Z", 1_700_000_000_000_000_000n],
  ["2023-11-14T23:13:20.5+01:00", 1_700_000_000_500_000_000n],
  ["2023-11-14T22:13:20.123456789", 1_700_000_000_123_456_789n],
  [1_700_000_000_123, 1_700_000_000_123_000_000n],
])("the time %s is read exactly", (time, nanos) => {
  const [span] = encode([{ name: "run", end_time: time }]);
  expect(span?.endNanos).toBe(nanos);
});

test("a text, a length and a number of any size are encoded so that protobufjs reads them", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "binary", maxLength: 300 }), { maxLength: 5 }),
      fc.nat(70_000),
      fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger()),
      (tags, length, number) => {
        const name = `run ${tags[0]}`;
        const metadata = { number, text: "ü".repeat(length) };
        const [span] = encode([{ name, tags, extra: { metadata } }], "gen_ai");
        expect(span?.name).toBe(name.toWellFormed());
        expect(span?.attributes["langsmith.metadata.text"]).toBe(metadata.text);
        // JSON has no negative zero.
        expect(span?.attributes["langsmith.metadata.number"]).toBe(number === 0 ? 0 : number);
      },
    ),
    { numRuns: 50 },
  );
});

test("payloads of any form are sent without a failure, and exactly", () => {
  const names = [
    "messages",
    "choices",
    "content",
    "usage",
    "tools",
    "tool_calls",
    "parts",
    "output",
    "generations",
    "message",
    "function",
    "kwargs",
    "functionCall",
    "summary",
    "input",
    "role",
    "type",
    "text",
    "id",
    "image_url",
    "source",
    "inlineData",
    "url",
    "data",
    "mimeType",
  ];
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, depthSize: "small" },
      fc.constantFrom(
        null,
        true,
        1,
        -2.5,
        "",
        "text",
        "tool",
        "function_call",
        "reasoning",
        "tool_use",
        "image",
        "image_url",
        "image/png",
        "data:image/png;base64,AA==",
      ),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names), tie("value"), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(
      value,
      value,
      value,
      fc.constantFrom("llm", "tool", "retriever", "embedding", "chain"),
      fc.constantFrom<OtlpConvention>("gen_ai", "openinference"),
      (inputs, outputs, extra, runType, convention) => {
        const run = {
          name: "run",
          run_type: runType,
          inputs,
          outputs,
          extra,
          events: inputs,
          error: null,
          tags: outputs,
        };
        const [span] = encode([run as never], convention);
        const isTool = runType === "tool" && convention === "gen_ai";
        const name = isTool ? "gen_ai.tool.call.arguments" : "input.value";
        expect(JSON.parse(String(span?.attributes[name]))).toEqual(
          JSON.parse(JSON.stringify(inputs)),
        );
      },
    ),
    { numRuns: 500 },
  );
});
