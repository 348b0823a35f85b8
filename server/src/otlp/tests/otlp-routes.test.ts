import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { rpcStatusType, traceResponseType } from "../proto-types.ts";
import { containing } from "../../../tests/support/matchers.ts";
import {
  encodeSpans,
  otlpRequest,
  otlpSpan,
  spanIdOf,
  spanUuid,
  traceUuid,
} from "../../../tests/support/otlp-spans.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import type { CallResult } from "../../../tests/support/running-server.ts";

const path = "POST /otel/v1/traces";
const json = { "content-type": "application/json" };
const protobuf = { "content-type": "application/x-protobuf" };

/** Sends a request and returns the raw bytes: decoding a protobuf response as text would corrupt it. */
async function send(
  server: { readonly url: string },
  body: Buffer,
  headers: Readonly<Record<string, string>> = protobuf,
): Promise<{ readonly status: number; readonly type: string | null; readonly bytes: Buffer }> {
  const response = await fetch(`${server.url}/otel/v1/traces`, {
    method: "POST",
    headers,
    body: new Uint8Array(body),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, type: response.headers.get("content-type"), bytes };
}

const readRoot = (server: { readonly url: string }): Promise<CallResult> =>
  call(server, `GET /runs/${traceUuid}`);

test("spans as JSON become runs, in the project of the header", async () => {
  const server = await runServer();
  const body = otlpRequest([otlpSpan({ id: 2, parent: 1 }), otlpSpan({ id: 1 })]);
  const headers = { ...json, "Langsmith-Project": "mill" };
  const response = await call(server, path, { body, headers });
  expect(response).toMatchObject({ status: 200, text: "{}" });
  expect(response.headers.get("content-type")).toBe("application/json");
  expect((await readRoot(server)).json).toMatchObject({
    name: "span 1",
    session_name: "mill",
    child_run_ids: [spanUuid(spanIdOf(2))],
  });
});

test("spans as protobuf, with and without gzip, become the same runs", async () => {
  const server = await runServer();
  const first = await send(server, encodeSpans(otlpSpan({ id: 2, parent: 1 })));
  expect(first).toMatchObject({ status: 200, type: "application/x-protobuf" });
  expect(first.bytes).toHaveLength(0);
  const headers = { ...protobuf, "content-encoding": "gzip" };
  const second = await send(server, gzipSync(encodeSpans(otlpSpan({ id: 1 }))), headers);
  expect(second.status).toBe(200);
  expect((await readRoot(server)).json).toMatchObject({ child_run_ids: [spanUuid(spanIdOf(2))] });
});

test("costs that a span reports are those of its run, in place of computed ones", async () => {
  const server = await runServer();
  const attributes = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "gpt-4o",
    "llm.token_count.prompt": 1_000,
    "llm.token_count.completion": 100,
    "llm.cost.prompt": 0.5,
    "llm.cost.completion": 0.25,
  };
  const body = otlpRequest([otlpSpan({ attributes })]);
  await call(server, path, { body, headers: json });
  expect((await readRoot(server)).json).toMatchObject({
    prompt_cost: "0.5",
    completion_cost: "0.25",
    total_cost: "0.75",
  });
});

test("an embedding without a provider and without output tokens has a total and a cost", async () => {
  const server = await runServer();
  const attributes = {
    "gen_ai.operation.name": "embeddings",
    "gen_ai.request.model": "text-embedding-3-small",
    "gen_ai.usage.input_tokens": 1_000_000,
  };
  const body = otlpRequest([otlpSpan({ attributes })]);
  await call(server, path, { body, headers: json });
  expect((await readRoot(server)).json).toMatchObject({
    run_type: "embedding",
    total_tokens: 1_000_000,
    total_cost: "0.02",
  });
});

test("every form of the path is routed", async () => {
  const server = await runServer();
  const responses = ["/otel/v1/traces", "/api/v1/otel/v1/traces", "/otel/v1/traces/"].map((form) =>
    call(server, `POST ${form}`, { body: {}, headers: json }),
  );
  const statuses = (await Promise.all(responses)).map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 200]);
});

test.each([
  ["/v1/traces", protobuf],
  ["/v1/traces", json],
  ["/v1/traces/?x=1", protobuf],
  ["/api/v1/v1/traces", protobuf],
])("the 404 of %s with %j names the path for spans", async (form, headers) => {
  const { url } = await runServer();
  const body = new Uint8Array(encodeSpans(otlpSpan()));
  const response = await fetch(`${url}${form}`, { method: "POST", headers, body });
  expect(response.status).toBe(404);
  const { detail } = (await response.json()) as { detail: string };
  expect(detail).toMatch(/^there is no POST \/v1\/traces\/?: spans go to /);
  expect(detail).toContain(`${url}/otel/v1/traces`);
  expect(detail).toContain(`OTEL_EXPORTER_OTLP_ENDPOINT to ${url}/otel`);
});

test.each<Readonly<Record<string, string>>>([{}, { "content-type": "application/octet-stream" }])(
  "with the headers %j, a body is recognized by its first byte",
  async (headers) => {
    const server = await runServer();
    expect(await send(server, encodeSpans(otlpSpan()), headers)).toMatchObject({ status: 200 });
    const body = Buffer.from(JSON.stringify(otlpRequest([otlpSpan()])));
    expect(await send(server, body, headers)).toMatchObject({
      status: 200,
      type: "application/json",
    });
  },
);

test.each(["text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded"])(
  "the content type %s is 415, with those that are allowed",
  async (type) => {
    const server = await runServer();
    const message = `unknown content type ${JSON.stringify(type)}: send spans as application/x-protobuf or application/json`;
    for (const body of [{}, "spans"]) {
      expect(await call(server, path, { body, headers: { "content-type": type } })).toMatchObject({
        status: 415,
        json: { code: 3, message },
      });
    }
    const protobufLike = { "content-type": "application/X-Protobuf; charset=utf-8" };
    expect((await send(server, encodeSpans(otlpSpan()), protobufLike)).status).toBe(200);
  },
);

test("rejected spans are counted; those next to them are stored", async () => {
  const server = await runServer();
  const spans = [otlpSpan(), otlpSpan({ rest: { spanId: "1" } })];
  const response = await call(server, path, { body: otlpRequest(spans), headers: json });
  const errorMessage = '1 span was rejected: spanId is not 8 bytes: "1"';
  expect(response).toMatchObject({
    status: 200,
    json: { partialSuccess: { rejectedSpans: "1", errorMessage } },
  });
  const unknown = { "langsmith.trace.session_id": "0195d3a2-0000-7000-8000-00000000000a" };
  const { bytes } = await send(
    server,
    encodeSpans(otlpSpan({ id: 3 }), otlpSpan({ id: 4, parent: 3, attributes: unknown })),
  );
  expect(
    traceResponseType.toObject(traceResponseType.decode(bytes), { longs: Number }),
  ).toMatchObject({
    partialSuccess: { rejectedSpans: 1, errorMessage: containing("session_id") },
  });
});

test("a request of which nothing can be stored is 400, with the reasons", async () => {
  const server = await runServer();
  const body = otlpRequest([otlpSpan({ rest: { traceId: "1" } })]);
  expect(await call(server, path, { body, headers: json })).toMatchObject({
    status: 400,
    json: { code: 3, message: '1 span was rejected: traceId is not 16 bytes: "1"' },
  });
});

test("a failure is reported in the encoding of the request", async () => {
  const server = await runServer();
  expect(await call(server, path, { body: "{", headers: json })).toMatchObject({
    status: 400,
    json: { code: 3, message: containing("the body is not a JSON trace request") },
  });
  const { status, type, bytes } = await send(server, Buffer.from("no protobuf"));
  expect({ status, type }).toEqual({ status: 400, type: "application/x-protobuf" });
  expect(rpcStatusType.decode(bytes)).toMatchObject({
    code: 3,
    message: containing("the body is not a protobuf trace request"),
  });
});

test("a missing key is 401, in the encoding of the request", async () => {
  const server = await runServer({ apiKeys: ["secret"] });
  const { status, bytes } = await send(server, encodeSpans(otlpSpan()));
  expect(status).toBe(401);
  expect(rpcStatusType.decode(bytes)).toMatchObject({ code: 16 });
  const headers = { ...protobuf, "x-api-key": "secret" };
  expect((await send(server, encodeSpans(otlpSpan()), headers)).status).toBe(200);
});

test("a body that inflates beyond the limit is 413, one that does not inflate is 400", async () => {
  const server = await runServer();
  const headers = { ...json, "content-encoding": "gzip" };
  const bomb = gzipSync(Buffer.alloc(30_000_000, " "));
  expect(await send(server, bomb, headers)).toMatchObject({ status: 413 });
  expect(await send(server, Buffer.from("no gzip"), headers)).toMatchObject({ status: 400 });
  const unknown = { ...json, "content-encoding": "br" };
  expect(await send(server, Buffer.from("{}"), unknown)).toMatchObject({ status: 415 });
});

test("names and texts of any kind are returned unchanged", async () => {
  const server = await runServer();
  const text = "\0 \uD800 <b>'; DROP TABLE runs; --</b> \u{1F600}";
  const attributes = { "input.value": text, [text]: text };
  const body = otlpRequest([otlpSpan({ attributes, rest: { name: text } })]);
  await call(server, path, { body, headers: json });
  expect((await readRoot(server)).json).toMatchObject({
    name: text,
    inputs: { input: text },
    extra: { metadata: { [text]: text } },
  });
});

test("a project name beyond ASCII arrives unchanged", async () => {
  const server = await runServer();
  const headers = { ...json, "Langsmith-Project": Buffer.from("Mühle").toString("latin1") };
  await call(server, path, { body: otlpRequest([otlpSpan()]), headers });
  expect((await readRoot(server)).json).toMatchObject({ session_name: "Mühle" });
});

test("a span with malformed values is stored beside the others, in both encodings", async () => {
  const server = await runServer();
  const huge = "x".repeat(5_000_000);
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.input.messages": `[{"role": "user", "parts": [${huge}`,
    "gen_ai.output.messages": "[",
    "gen_ai.usage.input_tokens": -1,
    "gen_ai.usage.output_tokens": 1e300,
    "gen_ai.usage.cache_read.input_tokens": "many",
    "ai.operationId": "ai.generateText",
    "ai.prompt": "{",
    "ai.response.toolCalls": "{}",
    "langsmith.metadata": "[]",
  };
  const bad = otlpSpan({ id: 2, parent: 1, attributes });
  const good = otlpSpan({ id: 1 });
  const asJson = await call(server, path, { body: otlpRequest([bad, good]), headers: json });
  expect(asJson).toMatchObject({ status: 200, text: "{}" });
  const other = otlpSpan({ id: 3, parent: 1, attributes });
  expect(await send(server, encodeSpans(other))).toMatchObject({ status: 200 });
  expect((await readRoot(server)).json).toMatchObject({
    child_run_ids: [spanUuid(spanIdOf(2)), spanUuid(spanIdOf(3))],
  });
  for (const id of [2, 3]) {
    const { json: run } = await call(server, `GET /runs/${spanUuid(spanIdOf(id))}`);
    const { extra } = run as { readonly extra: { readonly metadata: Record<string, unknown> } };
    const warnings = extra.metadata["otel.warnings"] as readonly string[];
    const names = Object.keys(attributes).filter((name) =>
      warnings.some((text) => text.startsWith(`${name} `)),
    );
    expect(names).toEqual(
      Object.keys(attributes).filter(
        (name) => name !== "gen_ai.operation.name" && name !== "ai.operationId",
      ),
    );
    expect(Math.max(...warnings.map(({ length }) => length))).toBeLessThan(310);
    expect(JSON.stringify(run)).toContain(huge);
  }
});
