import { describe, expect, test } from "vitest";
import {
  eventStream,
  readRequestOf,
  readResponseOf,
  toEvents,
  toTypedEvents,
  warningsOf,
} from "./exchanges.ts";

describe("completions of a text", () => {
  test("a stream is joined by choice, with texts and log probabilities", () => {
    const chunk = (choices: readonly object[]) => ({
      id: "cmpl",
      object: "text_completion",
      model: "gpt-3.5-turbo-instruct",
      choices,
    });
    const piece = (index: number, text: string, finish_reason: string | null = null) => ({
      index,
      text,
      logprobs: { tokens: [text], token_logprobs: [-1] },
      finish_reason,
    });
    const usage = { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 };
    const fields = readResponseOf(
      "openai.completions",
      toEvents([
        chunk([piece(1, "x")]),
        chunk([piece(0, "a")]),
        { ...chunk([piece(0, "b", "stop"), piece(1, "y", "length")]), usage },
      ]),
      eventStream,
    );
    expect(fields.outputs).toEqual({
      ...chunk([
        {
          index: 0,
          text: "ab",
          logprobs: { tokens: ["a", "b"], token_logprobs: [-1, -1] },
          finish_reason: "stop",
        },
        {
          index: 1,
          text: "xy",
          logprobs: { tokens: ["x", "y"], token_logprobs: [-1, -1] },
          finish_reason: "length",
        },
      ]),
      usage,
      usage_metadata: { input_tokens: 1, output_tokens: 3, total_tokens: 4 },
    });
    expect(readRequestOf("openai.completions", { model: "m", prompt: "Say" })).toMatchObject({
      name: "OpenAI",
      inputs: { prompt: "Say" },
      metadata: { ls_model_type: "llm" },
    });
  });
});

describe("embeddings", () => {
  test("long vectors are counted, as numbers and as base64; short ones are kept", () => {
    const base64 = Buffer.from(new Float32Array(1_536).buffer).toString("base64");
    const { outputs } = readResponseOf("openai.embeddings", {
      object: "list",
      data: [
        { index: 0, embedding: Array.from({ length: 3_072 }, () => 0.1) },
        { index: 1, embedding: base64 },
        { index: 2, embedding: [1, 2] },
      ],
      model: "text-embedding-3-small",
      usage: { prompt_tokens: 8, total_tokens: 8 },
    });
    expect(outputs).toMatchObject({
      data: [
        { index: 0, embedding: "[3072 numbers, not recorded]" },
        { index: 1, embedding: "[1536 numbers, not recorded]" },
        { index: 2, embedding: [1, 2] },
      ],
      usage_metadata: { input_tokens: 8, total_tokens: 8 },
    });
    expect(readRequestOf("openai.embeddings", { model: "m", input: ["a"] })).toMatchObject({
      name: "OpenAIEmbeddings",
      runType: "embedding",
      inputs: { input: ["a"] },
    });
  });
});

describe("images", () => {
  test("are recorded as type and size, and their addresses as they are", () => {
    const { outputs } = readResponseOf("openai.images", {
      created: 1,
      output_format: "webp",
      data: [{ b64_json: "AAAA" }, { url: "https://a.test/x.png", revised_prompt: "a cat" }],
      usage: {
        input_tokens: 5,
        output_tokens: 100,
        total_tokens: 105,
        input_tokens_details: { text_tokens: 2, image_tokens: 3 },
      },
    });
    expect(outputs).toMatchObject({
      data: [
        { b64_json: "[image/webp, 3 bytes, not recorded]" },
        { url: "https://a.test/x.png", revised_prompt: "a cat" },
      ],
      usage_metadata: { input_tokens: 5, output_tokens: 100, input_token_details: { image: 3 } },
    });
  });

  test("a stream is joined to the response, without the previews", () => {
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const fields = readResponseOf(
      "openai.images",
      toTypedEvents([
        { type: "image_generation.partial_image", b64_json: "BBBB" } as never,
        {
          type: "image_generation.completed",
          b64_json: "AAAA",
          created_at: 7,
          output_format: "png",
          usage,
        } as never,
      ]),
      eventStream,
    );
    expect(fields.outputs).toEqual({
      created: 7,
      output_format: "png",
      data: [{ b64_json: "[image/png, 3 bytes, not recorded]" }],
      usage,
      usage_metadata: usage,
    });
    expect(fields.isComplete).toBe(true);
  });
});

describe("transcriptions", () => {
  const form = [
    "--b",
    'Content-Disposition: form-data; name="model"',
    "",
    "whisper-1",
    "--b",
    'Content-Disposition: form-data; name="file"; filename="a.wav"',
    "Content-Type: audio/wav",
    "",
    "RIFF--bytes",
    "--b",
    'Content-Disposition: form-data; name="timestamp_granularities[]"',
    "",
    "word",
    "--b",
    'Content-Disposition: form-data; name="timestamp_granularities[]"',
    "",
    "segment",
    "--b--",
    "",
  ].join("\r\n");
  const contentType = "multipart/form-data; boundary=b";

  test("the fields of a form are the inputs, and of a file its name, type and size", () => {
    const fields = readRequestOf("openai.transcription", form, { contentType });
    expect(fields).toMatchObject({
      name: "OpenAITranscription",
      inputs: {
        model: "whisper-1",
        file: { filename: "a.wav", type: "audio/wav", sizeBytes: 11 },
        "timestamp_granularities[]": ["word", "segment"],
      },
      metadata: { ls_model_name: "whisper-1" },
    });
    expect(warningsOf(fields)).toBeUndefined();
    const json = { model: "whisper-1", file: { filename: "a.wav", size: 3 } };
    const { inputs, metadata } = readRequestOf("openai.transcription", json);
    expect(inputs).toEqual(json);
    expect(metadata).not.toHaveProperty("ls_temperature");
    expect(
      readRequestOf("openai.transcription", { ...json, temperature: "0.5" }).metadata,
    ).toMatchObject({ ls_temperature: 0.5 });
  });

  test("omitted bytes of a file count, and a form without an end gives a warning", () => {
    const at = form.indexOf("RIFF") + 2;
    const fields = readRequestOf("openai.transcription", form, {
      contentType,
      omittedBytes: 1_000,
      omittedAt: at,
    });
    expect(fields.inputs).toMatchObject({ model: "whisper-1", file: { sizeBytes: 1_011 } });
    const cut = readRequestOf("openai.transcription", form.slice(0, at), { contentType });
    expect(cut.inputs).toMatchObject({ model: "whisper-1", file: { sizeBytes: 2 } });
    expect(warningsOf(cut)).toEqual(["The form data of the request has no closing boundary."]);
  });

  test("the response is the JSON, or the text in a format of subtitles", () => {
    const json = { text: "Hi", usage: { type: "duration", seconds: 3 } };
    expect(readResponseOf("openai.transcription", json).outputs).toEqual(json);
    const vtt = "WEBVTT\n\n00:00.000 --> 00:01.000\nHi";
    const fields = readResponseOf("openai.transcription", vtt, { contentType: "text/vtt" });
    expect(fields.outputs).toEqual({ text: vtt });
    expect(fields.error).toBeUndefined();
  });

  test("a stream is joined to the text", () => {
    const deltas = ["Hel", "lo"].map((delta) => ({ type: "transcript.text.delta", delta }));
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const done = { type: "transcript.text.done", text: "Hello", usage };
    const whole = readResponseOf(
      "openai.transcription",
      toTypedEvents([...deltas, done]),
      eventStream,
    );
    expect(whole.outputs).toEqual({ text: "Hello", usage, usage_metadata: usage });
    const partial = readResponseOf("openai.transcription", toTypedEvents(deltas), {
      ...eventStream,
      ending: "cancelled",
    });
    expect(partial.outputs).toEqual({ text: "Hello" });
    expect(partial.isComplete).toBe(false);
  });
});
