import { array, integer, sample } from "fast-check";
import { expect, test } from "vitest";
import type { ExchangeFormat } from "../../src/main/index.ts";
import { replyAsAnthropic } from "../support/anthropic-replies.ts";
import type { ModelReply, ModelRequest } from "../support/fake-model-api.ts";
import { replyAsOpenAi } from "../support/openai-replies.ts";
import { storeRuns } from "../integrations/stored-runs.ts";

const ask = (
  reply: (request: ModelRequest) => ModelReply | undefined,
  path: string,
): string | object =>
  reply({ path, headers: {}, text: "", body: { model: "m", stream: true, tools: [{}] } })?.body ??
  "";

const geminiList = [{ text: "Grü" }, { text: "ße 🐎" }].map((part) => ({
  candidates: [{ content: { role: "model", parts: [part] }, index: 0 }],
}));

const bodies: readonly (readonly [format: ExchangeFormat, body: string | object])[] = [
  ["openai.chat", ask(replyAsOpenAi, "/v1/chat/completions")],
  ["openai.responses", ask(replyAsOpenAi, "/v1/responses")],
  ["anthropic.messages", ask(replyAsAnthropic, "/v1/messages")],
  ["google.generate", geminiList],
];

/** Ways to cut a body: the sizes of the pieces, which repeat. */
const splits: readonly (readonly number[])[] = [
  [1_000_000],
  [1],
  ...sample(array(integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 8 }), 20).map(
    (sizes) => [...sizes, 1],
  ),
];

test.each(bodies)(
  "%s: any split of a response's bytes gives the same run",
  async (format, body) => {
    const { client, read } = await storeRuns();
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const bytes = new TextEncoder().encode(text);
    const contentType = typeof body === "string" ? "text/event-stream" : "application/json";
    for (const sizes of splits) {
      const exchange = client.recordExchange({ format, request: "{}" });
      exchange.respond({ status: 200, contentType });
      let offset = 0;
      for (let piece = 0; offset < bytes.length; piece += 1) {
        const size = sizes[piece % sizes.length] ?? 1;
        exchange.addChunk(bytes.subarray(offset, offset + size));
        offset += size;
      }
      exchange.end();
    }
    const runs = await read();
    expect(runs).toHaveLength(splits.length);
    const [whole, ...others] = runs.map(({ outputs, error, status }) => ({
      outputs,
      error,
      status,
    }));
    expect(whole?.status).toBe("success");
    expect(JSON.stringify(whole?.outputs)).toMatch(/Grüße|Zürich/);
    for (const other of others) {
      expect(other).toEqual(whole);
    }
  },
);
