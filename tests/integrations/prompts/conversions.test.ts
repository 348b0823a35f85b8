import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { generateText } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import OpenAI from "openai";
import { ValidationError } from "millrace";
import { chatPrompt, compile, toAiSdk, toAnthropic, toGemini, toOpenAI } from "millrace/prompts";
import type { CompiledPrompt, PromptMessage } from "millrace/prompts";
import { describe, expect, onTestFinished, test } from "vitest";

/** A server that keeps the bodies of requests, and always sends the same response. */
async function providerOf(answer: object) {
  const bodies: unknown[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      bodies.push(JSON.parse(Buffer.concat(chunks).toString()));
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}

const pixel = "data:image/png;base64,iVBORw0KGgo=";
const schema = { title: "Answer", type: "object", properties: { a: { type: "string" } } };

/** A prompt with everything that each provider has a form for. */
const compiled: CompiledPrompt = compile(
  chatPrompt(
    [
      ["system", "Be {tone}."],
      {
        role: "user",
        content: [
          { type: "text", text: "Look", extra: { cache_control: { type: "ephemeral" } } },
          { type: "image", url: "https://x.test/{file}", detail: "low" },
          { type: "image", url: pixel },
        ],
      },
      { placeholder: "history" },
      ["user", "{question}"],
    ],
    { schema },
  ),
  {
    tone: "kind",
    file: "a.png",
    question: "Why?",
    history: [
      {
        role: "assistant",
        content: "",
        tool_calls: [
          { id: "c1", name: "look_up", args: { q: "x" } },
          { id: "c2", name: "look_up", args: { q: "y" } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: '{"found":1}' },
      { role: "tool", tool_call_id: "c2", content: "nothing" },
    ],
  },
);

test("toOpenAI gives OpenAI's client what it sends", async () => {
  const { url, bodies } = await providerOf({ choices: [{ message: { content: "ok" } }] });
  const openai = new OpenAI({ baseURL: url, apiKey: "k" });
  await openai.chat.completions.create({ model: "m", ...toOpenAI(compiled) });
  expect(bodies).toEqual([
    {
      model: "m",
      messages: [
        { role: "system", content: "Be kind." },
        {
          role: "user",
          content: [
            { type: "text", text: "Look", cache_control: { type: "ephemeral" } },
            { type: "image_url", image_url: { url: "https://x.test/a.png", detail: "low" } },
            { type: "image_url", image_url: { url: pixel } },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "c1", type: "function", function: { name: "look_up", arguments: '{"q":"x"}' } },
            { id: "c2", type: "function", function: { name: "look_up", arguments: '{"q":"y"}' } },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: '{"found":1}' },
        { role: "tool", tool_call_id: "c2", content: "nothing" },
        { role: "user", content: "Why?" },
      ],
      response_format: { type: "json_schema", json_schema: { name: "Answer", schema } },
    },
  ]);
});

test("toAnthropic gives Anthropic's client what it sends", async () => {
  const { url, bodies } = await providerOf({ type: "message", role: "assistant", content: [] });
  const anthropic = new Anthropic({ baseURL: url, apiKey: "k" });
  await anthropic.messages.create({ model: "m", max_tokens: 9, ...toAnthropic(compiled) });
  expect(bodies).toEqual([
    {
      model: "m",
      max_tokens: 9,
      system: "Be kind.",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look", cache_control: { type: "ephemeral" } },
            { type: "image", source: { type: "url", url: "https://x.test/a.png" } },
            {
              type: "image",
              source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
            },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "tool_use", id: "c1", name: "look_up", input: { q: "x" } },
            { type: "tool_use", id: "c2", name: "look_up", input: { q: "y" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: '{"found":1}' },
            { type: "tool_result", tool_use_id: "c2", content: "nothing" },
          ],
        },
        { role: "user", content: "Why?" },
      ],
      output_config: { format: { type: "json_schema", schema } },
    },
  ]);
});

test("toGemini gives Google's client what it sends", async () => {
  const { url, bodies } = await providerOf({ candidates: [] });
  const google = new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: url } });
  const { contents, config } = toGemini(compiled);
  await google.models.generateContent({
    model: "m",
    contents,
    config: { ...config, temperature: 0 },
  });
  expect(bodies).toEqual([
    {
      systemInstruction: { parts: [{ text: "Be kind." }] },
      contents: [
        {
          role: "user",
          parts: [
            { text: "Look" },
            { fileData: { fileUri: "https://x.test/a.png", mimeType: "image/png" } },
            { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } },
          ],
        },
        {
          role: "model",
          parts: [
            { functionCall: { id: "c1", name: "look_up", args: { q: "x" } } },
            { functionCall: { id: "c2", name: "look_up", args: { q: "y" } } },
          ],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { id: "c1", name: "look_up", response: { found: 1 } } },
            { functionResponse: { id: "c2", name: "look_up", response: { output: "nothing" } } },
          ],
        },
        { role: "user", parts: [{ text: "Why?" }] },
      ],
      generationConfig: {
        temperature: 0,
        responseMimeType: "application/json",
        responseJsonSchema: schema,
      },
    },
  ]);
});

test("toAiSdk gives the AI SDK what a model receives", async () => {
  const model = new MockLanguageModelV3({
    // Otherwise the AI SDK downloads the image.
    supportedUrls: { "image/*": [/.*/] },
    doGenerate: {
      content: [{ type: "text", text: "ok" }],
      finishReason: { unified: "stop", raw: "stop" },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
      warnings: [],
    },
  });
  await generateText({ model, ...toAiSdk(compiled) });
  const output = (id: string, value: string) => ({
    type: "tool-result",
    toolCallId: id,
    toolName: "look_up",
    output: { type: "text", value },
  });
  expect(JSON.parse(JSON.stringify(model.doGenerateCalls[0]?.prompt))).toEqual([
    { role: "system", content: "Be kind." },
    {
      role: "user",
      content: [
        {
          type: "text",
          text: "Look",
          providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
        },
        { type: "file", mediaType: "image/*", data: "https://x.test/a.png" },
        { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "tool-call", toolCallId: "c1", toolName: "look_up", input: { q: "x" } },
        { type: "tool-call", toolCallId: "c2", toolName: "look_up", input: { q: "y" } },
      ],
    },
    { role: "tool", content: [output("c1", '{"found":1}'), output("c2", "nothing")] },
    { role: "user", content: [{ type: "text", text: "Why?" }] },
  ]);
});

describe("what differs between providers", () => {
  const of = (...messages: readonly PromptMessage[]): CompiledPrompt => ({ messages });
  const cached = {
    type: "text",
    text: "long",
    extra: { cache_control: { type: "ephemeral" } },
  } as const;

  test("several system messages stay several, with their cache marks", () => {
    const prompt = of(
      { role: "system", content: [cached] },
      { role: "user", content: "Hi" },
      { role: "developer", content: "Rules" },
    );
    expect(toAnthropic(prompt).system).toEqual([
      { type: "text", text: "long", cache_control: { type: "ephemeral" } },
      { type: "text", text: "Rules" },
    ]);
    expect(toGemini(prompt).config.systemInstruction).toEqual({
      parts: [{ text: "long" }, { text: "Rules" }],
    });
    expect(toAiSdk(prompt).system).toEqual([
      {
        role: "system",
        content: "long",
        providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
      },
      { role: "system", content: "Rules" },
    ]);
    expect(toOpenAI(prompt).messages.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "developer",
    ]);
  });

  test("without system messages there is no system member", () => {
    const prompt = of({ role: "user", content: "Hi" });
    expect(toAnthropic(prompt)).toEqual({ messages: [{ role: "user", content: "Hi" }] });
    expect(toAiSdk(prompt)).toEqual({ messages: [{ role: "user", content: "Hi" }] });
    expect(toGemini(prompt)).toEqual({
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      config: {},
    });
    expect(toOpenAI(prompt)).toEqual({ messages: [{ role: "user", content: "Hi" }] });
  });

  test("a text of the assistant stays beside its tool calls", () => {
    const message: PromptMessage = {
      role: "assistant",
      content: "I look",
      toolCalls: [{ id: "c", name: "f", arguments: {} }],
    };
    expect(toAnthropic(of(message)).messages[0]?.content).toMatchObject([
      { type: "text", text: "I look" },
      { type: "tool_use" },
    ]);
    expect(toOpenAI(of(message)).messages[0]).toMatchObject({ content: "I look" });
    expect(toGemini(of(message)).contents[0]?.parts).toMatchObject([
      { text: "I look" },
      { functionCall: { name: "f" } },
    ]);
    expect(toAiSdk(of(message)).messages[0]?.content).toMatchObject([
      { type: "text", text: "I look" },
      { type: "tool-call" },
    ]);
  });

  const image = { type: "image", url: pixel } as const;
  test.each<[string, CompiledPrompt, (prompt: CompiledPrompt) => unknown, RegExp]>([
    [
      "an image in a system message",
      of({ role: "system", content: [image] }),
      toOpenAI,
      /role system can contain only text/,
    ],
    [
      "an image in a system message",
      of({ role: "system", content: [image] }),
      toAnthropic,
      /role system can contain only text/,
    ],
    [
      "an image of the assistant",
      of({ role: "assistant", content: [image] }),
      toOpenAI,
      /role assistant can contain only text/,
    ],
    ["a result without a call", of({ role: "tool", content: "" }), toOpenAI, /no toolCallId/],
    ["a result without a call", of({ role: "tool", content: "" }), toAnthropic, /no toolCallId/],
    [
      "a result without a name",
      of({ role: "tool", content: "", toolCallId: "c" }),
      toGemini,
      /role tool has no name/,
    ],
    [
      "a result without a name",
      of({ role: "tool", content: "", toolCallId: "c" }),
      toAiSdk,
      /role tool has no name/,
    ],
    [
      "an image in TIFF",
      of({ role: "user", content: [{ type: "image", url: "data:image/tiff;base64,AA==" }] }),
      toAnthropic,
      /no images of the type "image\/tiff"/,
    ],
  ])("%s is refused", (_name, prompt, convert, message) => {
    expect(() => convert(prompt)).toThrow(message);
    expect(() => convert(prompt)).toThrow(ValidationError);
  });

  test.each([toOpenAI, toAnthropic, toGemini, toAiSdk])(
    "%o takes compiled prompts only",
    (convert) => {
      const prompt = chatPrompt([["user", "Hi"]]) as unknown as CompiledPrompt;
      expect(() => convert(prompt)).toThrow(
        /takes a compiled prompt.*Call compile\(prompt, variables\) first/,
      );
      expect(() => convert(undefined as unknown as CompiledPrompt)).toThrow(/not undefined/);
    },
  );

  test("the result is the caller's to change", () => {
    const { response_format: format } = toOpenAI(compiled);
    Object.assign(format?.json_schema.schema ?? {}, { title: "Changed" });
    expect(toOpenAI(compiled).response_format?.json_schema.schema).toEqual(schema);
  });
});
