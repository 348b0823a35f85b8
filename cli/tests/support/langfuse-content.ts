import { createObservation, createScore, createTrace } from "./fake-langfuse.ts";
import type { LangfuseContent } from "./fake-langfuse.ts";

/** Ids of Langfuse: trace ids and span ids of OpenTelemetry, and UUIDs of older clients. */
export const ids = {
  trace: "0af7651916cd43dd8448eb211c80319c",
  agent: "b7ad6b7169203331",
  uuidTrace: "6a6b2f0e-0a2c-4d4e-9b9c-0c5a3f1f2a11",
  uuidSpan: "7b7b2f0e-0a2c-4d4e-9b9c-0c5a3f1f2a11",
  image: "media-1",
};

const second = (n: number, ms = 0): string =>
  new Date(Date.UTC(2024, 4, 1, 10, 0, n, ms)).toISOString();

/** A project with one of everything, and `more` further traces of one observation each. */
export function createContent(more = 0): LangfuseContent {
  const observation = (json: Readonly<Record<string, unknown>>) =>
    createObservation({ traceId: ids.trace, parentObservationId: ids.agent, ...json });
  const moreTraces = Array.from({ length: more }, (_, n) => `trace-${n}`);
  return {
    traces: [
      createTrace({
        id: ids.trace,
        timestamp: second(0),
        input: [{ role: "user", content: "Why?" }],
        output: "Because.",
        sessionId: "chat 1",
        userId: "user 1",
        release: "v7",
        tags: ["prod"],
        metadata: { plan: "pro" },
      }),
      createTrace({ id: ids.uuidTrace, timestamp: second(20), name: null, input: { q: 1 } }),
      ...moreTraces.map((id, n) => createTrace({ id, timestamp: second(30 + n), input: n })),
    ],
    observations: [
      createObservation({
        id: ids.agent,
        traceId: ids.trace,
        type: "AGENT",
        name: "agent",
        startTime: second(0, 5),
        endTime: second(5),
        input: [{ role: "user", content: "Why?" }],
        output: "Because.",
      }),
      observation({
        id: "00f067aa0ba902b7",
        type: "GENERATION",
        name: "call",
        startTime: second(1),
        endTime: second(2),
        completionStartTime: second(1, 300),
        model: "gpt-4o",
        modelParameters: { temperature: 0.5 },
        input: [
          {
            role: "user",
            content: `@@@langfuseMedia:type=image/png|id=${ids.image}|source=bytes@@@`,
          },
        ],
        output: { role: "assistant", content: "Because." },
        metadata: { step: 1 },
        usageDetails: {
          input: 80,
          input_cached_tokens: 20,
          output: 10,
          output_reasoning_tokens: 5,
          total: 115,
        },
        costDetails: { input: 0.001, input_cached_tokens: 0.0005, output: 0.002, total: 0.0035 },
        promptName: "Support/Greeting",
        promptVersion: 2,
      }),
      observation({
        id: "00f067aa0ba902b8",
        type: "TOOL",
        name: "search",
        startTime: second(2),
        endTime: second(3),
        input: "rain",
        output: ["clouds"],
        level: "ERROR",
        statusMessage: "timed out",
      }),
      observation({
        id: "00f067aa0ba902b9",
        type: "RETRIEVER",
        name: "documents",
        parentObservationId: "00f067aa0ba902b8",
        startTime: second(2, 100),
        endTime: second(2, 900),
        level: "WARNING",
        statusMessage: "slow",
      }),
      observation({ id: "00f067aa0ba902ba", type: "EVENT", name: "note", startTime: second(4) }),
      observation({
        id: "00f067aa0ba902bb",
        type: "EMBEDDING",
        name: "embed",
        parentObservationId: "missing",
        startTime: second(4, 1),
        endTime: second(4, 2),
      }),
      // Older clients gave a trace and its first observation the same id.
      createObservation({
        id: ids.uuidTrace,
        traceId: ids.uuidTrace,
        type: "CHAIN",
        startTime: second(20),
        endTime: second(21),
      }),
      createObservation({
        id: ids.uuidSpan,
        traceId: ids.uuidTrace,
        parentObservationId: ids.uuidTrace,
        startTime: second(20, 1),
        endTime: second(20, 9),
      }),
      ...moreTraces.map((traceId, n) =>
        createObservation({
          id: `observation-${n}`,
          traceId,
          startTime: second(30 + n),
          endTime: second(30 + n, 5),
          input: { n },
        }),
      ),
    ],
    scores: [
      createScore({
        id: "s1",
        traceId: ids.trace,
        dataType: "NUMERIC",
        value: 0.7,
        comment: "fine",
      }),
      createScore({
        id: "s2",
        traceId: ids.trace,
        observationId: ids.agent,
        name: "correct",
        source: "ANNOTATION",
        authorUserId: "reviewer",
        dataType: "BOOLEAN",
        value: 1,
        stringValue: "True",
      }),
      createScore({
        id: "s3",
        traceId: ids.uuidTrace,
        name: "tone",
        source: "EVAL",
        dataType: "CATEGORICAL",
        value: 0,
        stringValue: "friendly",
      }),
      createScore({ id: "s4", sessionId: "chat 1", dataType: "NUMERIC", value: 1 }),
    ],
    datasets: [
      {
        id: "dataset-1",
        name: "questions",
        description: "Why?",
        metadata: { owner: "me" },
        inputSchema: null,
        expectedOutputSchema: { type: "string" },
        projectId: "p",
        createdAt: second(0),
        updatedAt: second(1),
      },
    ],
    items: [
      createItem({ id: "item-1", sourceTraceId: ids.trace, sourceObservationId: ids.agent }),
      createItem({ id: "item-2", input: "How?", metadata: null }),
      createItem({ id: "item-3", status: "ARCHIVED" }),
    ],
    prompts: [
      createPrompt({ version: 1, prompt: "Hello {{name}}!", type: "text", labels: [] }),
      createPrompt({
        version: 2,
        commitMessage: "Use messages",
        labels: ["production", "latest"],
        config: { model: "gpt-4o" },
        prompt: [
          { role: "system", content: "Greet {{name}}." },
          { type: "placeholder", name: "history" },
          { role: "user", content: "Hello!" },
        ],
      }),
    ],
    media: { [ids.image]: Buffer.from("PNG") },
  };
}

const createItem = (item: Readonly<Record<string, unknown>>) => ({
  status: "ACTIVE",
  input: { question: "Why?" },
  expectedOutput: "Because.",
  metadata: { difficulty: 1 },
  sourceTraceId: null,
  sourceObservationId: null,
  datasetId: "dataset-1",
  datasetName: "questions",
  createdAt: second(2),
  updatedAt: second(3),
  mediaReferences: [],
  ...item,
});

const createPrompt = (prompt: Readonly<Record<string, unknown>>) => ({
  name: "Support/Greeting",
  type: "chat",
  config: {},
  tags: ["greeting"],
  commitMessage: null,
  ...prompt,
});
