import * as fc from "fast-check";
import { expect, test } from "vitest";
import { mapped, otlpSpan, readSpans } from "../../../tests/support/otlp-spans.ts";
import { toBatch } from "../to-batch.ts";

/** Names that the server reads, of all conventions. */
const names = [
  "ai.operationId",
  "ai.documents",
  "ai.embeddings",
  "ai.model.provider",
  "ai.prompt",
  "ai.prompt.messages",
  "ai.prompt.toolChoice",
  "ai.prompt.tools",
  "ai.ranking",
  "ai.request.headers.authorization",
  "ai.response.finishReason",
  "ai.response.msToFirstChunk",
  "ai.response.object",
  "ai.response.providerMetadata",
  "ai.response.reasoning",
  "ai.response.text",
  "ai.response.toolCalls",
  "ai.telemetry.metadata.sessionId",
  "ai.telemetry.metadata.tags",
  "ai.toolCall.args",
  "ai.toolCall.name",
  "ai.toolCall.result",
  "ai.usage.cachedInputTokens",
  "ai.usage.inputTokens",
  "ai.usage.tokens",
  "ai.value",
  "anthropic.message.stop_reason",
  "anthropic.tool_result.content",
  "embedding.embeddings.0.embedding.text",
  "error.type",
  "gen_ai.completion.0.content",
  "gen_ai.conversation.id",
  "gen_ai.input.messages",
  "gen_ai.operation.name",
  "gen_ai.output.messages",
  "gen_ai.prompt",
  "gen_ai.provider.name",
  "gen_ai.request.model",
  "gen_ai.request.stop_sequences",
  "gen_ai.response.finish_reasons",
  "gen_ai.response.time_to_first_chunk",
  "gen_ai.system_instructions",
  "gen_ai.tool.call.arguments",
  "gen_ai.tool.definitions",
  "gen_ai.usage.cache_read.input_tokens",
  "gen_ai.usage.input_token_details",
  "gen_ai.usage.input_tokens",
  "gen_ai.usage.output_tokens",
  "input.mime_type",
  "input.value",
  "langsmith.metadata",
  "langsmith.reference_example_id",
  "langsmith.span.dotted_order",
  "langsmith.span.parent_id",
  "langsmith.span.tags",
  "langsmith.usage_metadata",
  "llm.input_messages.0.message.tool_calls.0.tool_call",
  "llm.invocation_parameters",
  "llm.tools.0.tool",
  "metadata",
  "output.value",
  "retrieval.documents.0.document",
  "session.id",
  "tag.tags",
  "user.id",
];

/** Values of every type, JSON texts of every kind, and texts that are not quite JSON. */
const values = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.json(),
  fc.json().map((text) => text.slice(0, -1)),
  fc.constantFrom(
    "ai.generateText",
    "ai.toolCall",
    "chat",
    "[{}]",
    '[{"role":"user"}]',
    '{"":null}',
  ),
  fc.constantFrom('[{"content":[{"type":"tool-result","output":{"type":"json"}}]}]', "[[]]", "{}"),
  fc.double(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.boolean(),
  fc.array(fc.oneof(fc.string(), fc.integer(), fc.json()), { maxLength: 3 }),
  fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.json()), { maxKeys: 3 }),
);

const attributes = fc.dictionary(fc.constantFrom(...names), values, {
  maxKeys: 12,
  noNullPrototype: true,
});

test("a span is a run whatever its attributes contain", () => {
  const check = fc.property(
    attributes,
    fc.array(attributes, { maxLength: 2 }),
    (given, ofEvents) => {
      const events = ofEvents.map((eventAttributes) => ({
        name: "gen_ai.choice",
        attributes: eventAttributes,
      }));
      const run = mapped({ attributes: given, events });
      expect(run).toMatchObject({ name: expect.any(String) as unknown, extra: { metadata: {} } });
      const { rejected, batch } = toBatch(readSpans([otlpSpan({ attributes: given, events })]));
      expect({ rejected, count: batch.records.length }).toEqual({ rejected: [], count: 1 });
    },
  );
  fc.assert(check, { numRuns: 1_000 });
});
