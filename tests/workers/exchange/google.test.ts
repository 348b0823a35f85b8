import { assert, nat, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { eventStream, readRequestOf, readResponseOf, toEvents, warningsOf } from "./exchanges.ts";

const url =
  "generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent";
const usageMetadata = {
  promptTokenCount: 100,
  cachedContentTokenCount: 80,
  toolUsePromptTokenCount: 5,
  candidatesTokenCount: 20,
  thoughtsTokenCount: 30,
  totalTokenCount: 155,
  promptTokensDetails: [
    { modality: "TEXT", tokenCount: 90 },
    { modality: "IMAGE", tokenCount: 10 },
  ],
};
const chunk = (parts: readonly object[], candidate: object = {}, members: object = {}) => ({
  candidates: [{ content: { parts, role: "model" }, index: 0, ...candidate }],
  modelVersion: "gemini-2.5-flash",
  responseId: "r1",
  ...members,
});
const chunks = [
  chunk([{ text: "Let me ", thought: true }]),
  chunk([{ text: "see", thought: true }]),
  chunk([{ text: "Grü" }], {}, { usageMetadata: { promptTokenCount: 100, totalTokenCount: 100 } }),
  chunk([{ text: "ße 🐎" }, { text: "", thoughtSignature: "c2ln" }]),
  chunk([
    { functionCall: { name: "look", args: { at: 1 } } },
    { functionCall: { name: "go", args: {} } },
  ]),
  chunk([{ text: "Done" }], { finishReason: "STOP" }, { usageMetadata }),
];
const joined = {
  candidates: [
    {
      content: {
        role: "model",
        parts: [
          { text: "Let me see", thought: true },
          { text: "Grüße 🐎", thoughtSignature: "c2ln" },
          { functionCall: { name: "look", args: { at: 1 } } },
          { functionCall: { name: "go", args: {} } },
          { text: "Done" },
        ],
      },
      index: 0,
      finishReason: "STOP",
    },
  ],
  modelVersion: "gemini-2.5-flash",
  responseId: "r1",
  usageMetadata,
  usage_metadata: {
    input_tokens: 105,
    output_tokens: 50,
    total_tokens: 155,
    input_token_details: { cache_read: 80, image: 10 },
    output_token_details: { reasoning: 30 },
  },
};

describe("Gemini's generateContent", () => {
  test("a request is the inputs; the model is in the path", () => {
    const request = {
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      generationConfig: { temperature: 1, maxOutputTokens: 8, stopSequences: ["x"] },
    };
    expect(readRequestOf("google.generate", request, { url })).toEqual({
      name: "ChatGoogleGenerativeAI",
      runType: "llm",
      inputs: request,
      metadata: {
        ls_provider: "google",
        ls_model_type: "chat",
        ls_model_name: "gemini-2.5-flash",
        ls_temperature: 1,
        ls_max_tokens: 8,
        ls_stop: ["x"],
      },
    });
  });

  test("a stream of events is joined to one response; thoughts are output tokens", () => {
    const fields = readResponseOf("google.generate", toEvents(chunks, ""), { ...eventStream, url });
    expect(fields.outputs).toEqual(joined);
    expect(fields.metadata).toMatchObject({ ls_model_name: "gemini-2.5-flash" });
    expect(fields.isComplete).toBe(true);
    expect(warningsOf(fields)).toBeUndefined();
  });

  test("a stream as a list of JSON is joined in the same way, also if its end is missing", () => {
    const list = JSON.stringify(chunks, undefined, 2);
    const json = { contentType: "application/json" };
    const whole = readResponseOf("google.generate", list, json);
    expect(whole.outputs).toEqual(joined);
    const cut = readResponseOf("google.generate", list.slice(0, -3), {
      ...json,
      ending: "cancelled",
    });
    expect(cut.outputs).toMatchObject({
      candidates: [{ content: { parts: [{ text: "Let me see" }, { text: "Grüße 🐎" }, {}, {}] } }],
      usage_metadata: { input_tokens: 100 },
    });
    expect(cut.isComplete).toBe(false);
    assert(
      property(nat(list.length), (length) => {
        const part = readResponseOf("google.generate", list.slice(0, length), {
          ...json,
          ending: "failed",
        });
        const text = JSON.stringify(part.outputs ?? {});
        expect(part.error).toBeUndefined();
        expect(text.includes('"body"') || text === "{}" || text.includes('"Let me')).toBe(true);
      }),
    );
  });

  test("errors and blocked prompts fail with the provider's message", () => {
    const error = { code: 429, message: "Quota exceeded", status: "RESOURCE_EXHAUSTED" };
    expect(readResponseOf("google.generate", { error }, { status: 429 }).error).toBe(
      "429 Quota exceeded (RESOURCE_EXHAUSTED)",
    );
    expect(readResponseOf("google.generate", [{ error }], { status: 429 }).error).toBe(
      "429 Quota exceeded (RESOURCE_EXHAUSTED)",
    );
    const streamed = readResponseOf(
      "google.generate",
      toEvents([...chunks.slice(0, 3), { error }], ""),
      eventStream,
    );
    expect(streamed.error).toBe("Quota exceeded (RESOURCE_EXHAUSTED)");
    expect(streamed.outputs).toMatchObject({ candidates: [{ content: { parts: [{}, {}] } }] });
    const listed = readResponseOf("google.generate", [...chunks.slice(0, 3), { error }]);
    expect(listed.error).toBe("Quota exceeded (RESOURCE_EXHAUSTED)");
    const blocked = { promptFeedback: { blockReason: "SAFETY" }, usageMetadata };
    expect(readResponseOf("google.generate", blocked).error).toBe("The prompt was blocked: SAFETY");
  });

  test("an image that the model created is recorded as type and size", () => {
    const part = { inlineData: { mimeType: "image/png", data: "AAAAAAAA" } };
    const { outputs } = readResponseOf("google.generate", chunk([part]));
    expect(outputs).toMatchObject({
      candidates: [
        {
          content: {
            parts: [
              { inlineData: { mimeType: "image/png", data: "[image/png, 6 bytes, not recorded]" } },
            ],
          },
        },
      ],
    });
  });
});

describe("Gemini's embeddings", () => {
  const values = Array.from({ length: 768 }, () => 0.5);

  test("long vectors are counted, in one response and in several", () => {
    const counted = "[768 numbers, not recorded]";
    expect(readResponseOf("google.embed", { embedding: { values } }).outputs).toEqual({
      embedding: { values: counted },
    });
    const { outputs } = readResponseOf("google.embed", {
      embeddings: [{ values }, { values: [1] }],
      usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
    });
    expect(outputs).toMatchObject({
      embeddings: [{ values: counted }, { values: [1] }],
      usage_metadata: { input_tokens: 4, total_tokens: 4 },
    });
  });

  test("Vertex AI's predictions are counted too, with their tokens", () => {
    const prediction = { embeddings: { values, statistics: { token_count: 3, truncated: false } } };
    expect(
      readResponseOf("google.embed", { predictions: [prediction, prediction] }).outputs,
    ).toMatchObject({
      predictions: [{ embeddings: { values: "[768 numbers, not recorded]" } }, {}],
      usage_metadata: { input_tokens: 6, total_tokens: 6 },
    });
  });

  test("a request is the inputs; the model is in the path", () => {
    const path =
      "generativelanguage.googleapis.com/v1beta/models/text-embedding-004:batchEmbedContents";
    expect(readRequestOf("google.embed", { requests: [] }, { url: path })).toMatchObject({
      name: "GoogleGenerativeAIEmbeddings",
      runType: "embedding",
      metadata: { ls_model_name: "text-embedding-004", ls_model_type: "embedding" },
    });
  });
});
