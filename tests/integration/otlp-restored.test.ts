import { Client } from "millrace";
import type { OtlpConvention, RunTree } from "millrace";
import { describe, expect, onTestFinished, test } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";
import { runCollector } from "../support/otlp-collector.ts";
import type { CollectedSpan } from "../support/otlp-collector.ts";
import { toWireRun } from "../support/wire-run.ts";

/** Fields with the id of the project, which each server creates by itself. */
const serverFields = new Set(["session_id", "app_path"]);

/**
 * Records the same runs with two clients, one of which sends them as spans, and returns both as the server has them. Ids and
 * times are the same, because the runs are recorded in the wire format.
 */
async function recordTwice(convention: OtlpConvention, runs: readonly WireRecord[]) {
  const read = async (send: "spans" | "runs") => {
    const server = await runServer();
    const client =
      send === "spans"
        ? new Client({ otlp: { url: `${server.url}/otel/v1/traces`, convention } })
        : new Client({ endpoint: server.url });
    const reader = new Client({ endpoint: server.url });
    onTestFinished(async () => {
      await Promise.all([client.close(), reader.close()]);
    });
    for (const { start, end } of runs) {
      await client.createRun(start as never);
      await client.updateRun(start.id, end);
    }
    const result = await client.flush();
    expect(result).toMatchObject({ delivered: 2 * runs.length, lost: 0, pending: 0 });
    const projects = [...new Set(runs.map(({ start }) => start.session_name ?? "default"))];
    const stored = await reader.runs.list({ projectNames: projects, order: "asc" }).toArray();
    const full = await Promise.all(stored.map(({ id }) => reader.runs.read(id)));
    return new Map(full.map((run) => [run.id, withoutServerFields(toWireRun(run))]));
  };
  return { spans: await read("spans"), runs: await read("runs") };
}

interface WireRecord {
  readonly start: { readonly id: string; readonly session_name?: string } & Record<string, unknown>;
  readonly end: Record<string, unknown>;
}

/** Removes what differs between two servers. */
const withoutServerFields = (run: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(run).filter(([name]) => !serverFields.has(name)));

const traceId = "0197f9d4-5f0a-7c3b-9c8e-0123456789ab";
const stamp = (seconds: number): string =>
  `20261121T1011${String(seconds).padStart(2, "0")}123456Z`;
const time = (seconds: number): string =>
  `2026-11-21T10:11:${String(seconds).padStart(2, "0")}.123456Z`;
const rootOrder = `${stamp(1)}${traceId}`;
const childId = (index: number): string =>
  `0197f9d4-5f0a-7c3b-8c8e-0000000000${String(index).padStart(2, "0")}`;

let serial = 0;
/** A child of the root, or of another child, which ended. */
function child(fields: Record<string, unknown>, parentOrder = rootOrder): WireRecord {
  serial += 1;
  const id = childId(serial);
  const { outputs = {}, error, events, end_time: endTime, ...start } = fields;
  return {
    start: {
      id,
      trace_id: traceId,
      dotted_order: `${parentOrder}.${stamp(serial + 1)}${id}`,
      parent_run_id: parentOrder.slice(-36),
      name: `run ${serial}`,
      run_type: "chain",
      inputs: {},
      start_time: time(serial + 1),
      ...start,
    },
    end: {
      trace_id: traceId,
      dotted_order: `${parentOrder}.${stamp(serial + 1)}${id}`,
      outputs,
      end_time: endTime ?? time(serial + 2),
      ...(error === undefined ? {} : { error }),
      ...(events === undefined ? {} : { events }),
    },
  };
}

const root: WireRecord = {
  start: {
    id: traceId,
    trace_id: traceId,
    dotted_order: rootOrder,
    name: "root \u{1F33E} “quoted”",
    run_type: "chain",
    inputs: {
      question: "rain?",
      list: [1, 2.5, null, true, { deep: { er: [] } }],
      large: 9_007_199_254_740_991,
    },
    start_time: time(1),
    tags: ["a", "with, comma", "ümlaut"],
    extra: {
      metadata: { thread_id: "chat 1", user_id: "user 1", n: 1, nested: { list: [1] } },
      custom: { kept: true },
    },
    serialized: { lc: 1, id: ["a", "b"] },
  },
  end: {
    trace_id: traceId,
    dotted_order: rootOrder,
    outputs: { answer: "no", "\u0000control": "\u0001" },
    end_time: time(59),
  },
};

const usage = {
  input_tokens: 120,
  output_tokens: 30,
  total_tokens: 150,
  input_token_details: { cache_read: 100 },
  output_token_details: { reasoning: 8 },
};

const records: readonly WireRecord[] = [
  root,
  child({
    name: "openai",
    run_type: "llm",
    inputs: {
      model: "gpt-5",
      temperature: 0.2,
      messages: [
        { role: "system", content: "Be short." },
        {
          role: "user",
          content: [
            { type: "text", text: "Rain?" },
            { type: "image_url", image_url: { url: "data:," } },
          ],
        },
      ],
      tools: [{ type: "function", function: { name: "weather" } }],
    },
    outputs: {
      id: "chatcmpl-1",
      model: "gpt-5-2026",
      choices: [
        {
          index: 0,
          finish_reason: "tool_calls",
          message: {
            role: "assistant",
            content: null,
            tool_calls: [
              {
                id: "c1",
                type: "function",
                function: { name: "weather", arguments: '{"city":"Bern"}' },
              },
            ],
          },
        },
      ],
      usage_metadata: usage,
    },
    extra: { metadata: { ls_provider: "openai", ls_model_name: "gpt-5", usage_metadata: usage } },
    events: [
      { name: "new_token", time: time(3), kwargs: { token: { text: "a" } } },
      { name: "bare" },
    ],
  }),
  child({
    name: "anthropic",
    run_type: "llm",
    inputs: {
      messages: [
        {
          role: "user",
          content: [
            { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } },
            { type: "image", source: { type: "url", url: "https://images.example/a.png" } },
          ],
        },
      ],
    },
    outputs: { role: "assistant", content: [{ type: "text", text: "Rain." }] },
    tags: ["a,b", "c"],
  }),
  child({
    name: "gemini",
    run_type: "llm",
    inputs: {
      contents: [
        {
          role: "user",
          parts: [
            { inlineData: { mimeType: "image/png", data: "AA==" } },
            { fileData: { mimeType: "image/png", fileUri: "https://images.example/a.png" } },
          ],
        },
      ],
    },
    outputs: { usage_metadata: { ...usage, input_cost: 0.1, output_cost: 0.2, total_cost: 0.3 } },
  }),
  child({
    name: "weather",
    run_type: "tool",
    inputs: { city: "Bern" },
    outputs: { rain: false },
    error: "TypeError: no such city\n    at weather (file.js:1:1)",
  }),
  child({
    name: "search",
    run_type: "retriever",
    inputs: { query: "rain" },
    outputs: { documents: [{ page_content: "dry", metadata: { source: "x" } }] },
  }),
  child({
    name: "embed",
    run_type: "embedding",
    inputs: { input: ["a", "b"] },
    outputs: { embeddings: [[0.1, 0.2]] },
  }),
  child({
    name: "of another type",
    run_type: "parser",
    outputs: { output: [1, 2] },
    session_name: "other project",
  }),
  child({ name: "without outputs", outputs: {} }),
];

describe.each(["gen_ai", "openinference"] as const)("with the convention %s", (convention) => {
  test("the server has the same runs from spans as from our own wire format", async () => {
    const grandchild = child(
      { name: "grandchild", inputs: { x: 1 } },
      String(records[1]?.start["dotted_order"]),
    );
    const all = [...records, grandchild];
    const { spans, runs } = await recordTwice(convention, all);
    expect(spans.size).toBe(all.length);
    for (const { start } of all) {
      expect(spans.get(start.id)).toEqual(runs.get(start.id));
    }
  });

  test("runs of the SDK's own functions keep their ids and their tree", async () => {
    const server = await runServer();
    const client = new Client({ otlp: { url: `${server.url}/otel/v1/traces`, convention } });
    const reader = new Client({ endpoint: server.url });
    onTestFinished(async () => {
      await Promise.all([client.close(), reader.close()]);
    });
    const tree: RunTree[] = [client.startRun({ name: "root", inputs: { depth: 0 }, tags: ["t"] })];
    for (let depth = 1; depth < 5; depth++) {
      tree.push(
        (tree[depth - 1] as RunTree).startChild({ name: `level ${depth}`, inputs: { depth } }),
      );
    }
    // Ends outside in, so parents arrive in another request than children.
    for (const run of tree) {
      run.end({ done: run.name });
      await client.flush();
    }
    for (const run of tree) {
      const stored = await reader.runs.read(run.id);
      expect(stored).toMatchObject({
        name: run.name,
        dottedOrder: run.dottedOrder,
        traceId: run.traceId,
        outputs: { done: run.name },
      });
    }
  });
});

test.each([
  [undefined, "of the header"],
  ["of the option", "of the option"],
])(
  "with projectName %s and the header Langsmith-Project, runs are stored in the project %s",
  async (projectName, stored) => {
    const server = await runServer();
    const headers = { "Langsmith-Project": "of the header" };
    const client = new Client({
      projectName,
      otlp: { url: `${server.url}/otel/v1/traces`, headers },
    });
    const reader = new Client({ endpoint: server.url });
    onTestFinished(async () => {
      await Promise.all([client.close(), reader.close()]);
    });
    const run = client.startRun({ name: "run" });
    run.end();
    const wireId = crypto.randomUUID();
    await client.createRun({
      id: wireId,
      name: "wire",
      run_type: "chain",
      inputs: {},
      start_time: time(1),
    });
    await client.updateRun(wireId, { end_time: time(2) });
    expect(await client.flush()).toMatchObject({ delivered: 4, lost: 0 });
    const runs = await reader.runs.list({ projectNames: [stored] }).toArray();
    expect(runs.map(({ name }) => name).toSorted()).toEqual(["run", "wire"]);
  },
);

/** Sends collected spans to the server as JSON, with the attributes that `change` returns. */
async function forward(
  server: { readonly url: string },
  spans: readonly CollectedSpan[],
  change: (attributes: CollectedSpan["attributes"]) => Readonly<Record<string, string>>,
): Promise<void> {
  const encoded = spans.map(({ traceId: trace, spanId, parentSpanId, name, ...span }) => ({
    traceId: trace,
    spanId,
    parentSpanId,
    name,
    startTimeUnixNano: String(span.startNanos),
    endTimeUnixNano: String(span.endNanos),
    attributes: Object.entries(change(span.attributes)).map(([key, stringValue]) => ({
      key,
      value: { stringValue },
    })),
  }));
  const response = await fetch(`${server.url}/otel/v1/traces`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: encoded }] }] }),
  });
  expect({ status: response.status, body: await response.json() }).toEqual({
    status: 200,
    body: {},
  });
}

/** Records a run with a child and a grandchild, and returns their spans and a client that reads from a server. */
async function recordFamily() {
  const server = await runServer();
  const collector = await runCollector();
  const client = new Client({ otlp: { url: collector.url } });
  const reader = new Client({ endpoint: server.url });
  onTestFinished(async () => {
    await Promise.all([client.close(), reader.close()]);
  });
  const parent = client.startRun({ name: "parent", inputs: { a: 1 } });
  const inner = parent.startChild({ name: "inner", inputs: { a: 2 } });
  inner.startChild({ name: "leaf", inputs: { a: 3 } }).end();
  inner.end();
  parent.end();
  await client.flush();
  const readTree = async () => {
    const runs = await reader.runs.list({ projectNames: ["default"], order: "asc" }).toArray();
    const names = new Map(runs.map(({ id, name }) => [id, name]));
    return runs.map(({ id, name, parentRunId, inputs }) => ({
      id,
      name,
      parent: names.get(parentRunId ?? ""),
      inputs,
    }));
  };
  return { server, spans: collector.spans, readTree, ids: { parent: parent.id, inner: inner.id } };
}

test("spans that lost their attributes on the way still form the same tree", async () => {
  const { server, spans, readTree, ids } = await recordFamily();
  await forward(server, spans, () => ({}));
  expect(await readTree()).toMatchObject([
    { id: ids.parent, name: "parent", parent: undefined },
    { name: "inner", parent: "parent" },
    { name: "leaf", parent: "inner" },
  ]);
});

test.each([
  ["millrace.run", "{broken"],
  ["millrace.run", '{"name":"without an id"}'],
  ["input.value", "[redacted]"],
  ["millrace.extra", "[redacted"],
])("an attribute that was changed on the way costs only itself: %s %s", async (changed, value) => {
  const { server, spans, readTree, ids } = await recordFamily();
  const texts = (attributes: CollectedSpan["attributes"]): Record<string, string> =>
    Object.fromEntries(
      Object.entries(attributes).map(([name, content]) => [name, String(content)]),
    );
  await forward(server, spans, (attributes) => ({ ...texts(attributes), [changed]: value }));
  const tree = await readTree();
  expect(tree).toMatchObject([
    { id: ids.parent, name: "parent", parent: undefined },
    { id: ids.inner, name: "inner", parent: "parent" },
    { name: "leaf", parent: "inner" },
  ]);
  const inputs = tree.map((run) => run.inputs);
  expect(inputs).toEqual(
    changed === "input.value"
      ? [{ input: value }, { input: value }, { input: value }]
      : [{ a: 1 }, { a: 2 }, { a: 3 }],
  );
});
