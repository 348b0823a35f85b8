import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { expect, onTestFinished, test } from "vitest";
import { MillraceSpanProcessor } from "../../src/integrations/otel/index.ts";
import { Client } from "../../src/main/index.ts";
import { runCollector } from "../support/otlp-collector.ts";

async function createClient() {
  const collector = await runCollector();
  const client = new Client({ otlp: { url: collector.url }, firstDelayMs: 0 });
  onTestFinished(async () => {
    await client.close({ timeoutMs: 0 });
  });
  return { client, collector };
}

test("a call whose bytes a worker reads becomes a span with model, messages and tokens", async () => {
  const { client, collector } = await createClient();
  const exchange = client.recordExchange({
    format: "openai.chat",
    request: JSON.stringify({ model: "gpt-5", messages: [{ role: "user", content: "Rain?" }] }),
  });
  expect(await client.flush()).toMatchObject({ delivered: 0, pending: 1 });
  const answer = {
    id: "chatcmpl-1",
    model: "gpt-5-2026",
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "No." } }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  };
  exchange.respond({ status: 200, contentType: "application/json" });
  exchange.addChunk(Buffer.from(JSON.stringify(answer)));
  exchange.end();
  expect(await client.flush()).toMatchObject({ delivered: 2, pending: 0, lost: 0 });
  expect(collector.spans).toHaveLength(1);
  expect(collector.spans[0]).toMatchObject({
    kind: "SPAN_KIND_CLIENT",
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-5",
      "gen_ai.response.model": "gpt-5-2026",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.output_tokens": 2,
      "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"Rain?"}]}]',
    },
  });
});

test("spans of another library keep their ids, names, times and tree", async () => {
  const { client, collector } = await createClient();
  const provider = new BasicTracerProvider({
    spanProcessors: [new MillraceSpanProcessor({ client })],
  });
  const tracer = provider.getTracer("shop");
  const span = tracer.startSpan("order", { attributes: { "order.id": 7 } });
  span.end();
  await provider.forceFlush();
  expect(collector.spans).toHaveLength(1);
  expect(collector.spans[0]).toMatchObject({
    traceId: span.spanContext().traceId,
    name: "order",
    parentSpanId: "",
  });
  expect(JSON.stringify(collector.spans[0]?.attributes)).toContain("order.id");
  expect(client.stats()).toMatchObject({ pending: 0, dropped: 0 });
});
