import { Type } from "typebox";
import { expect, test, vi } from "vitest";
import { defineJobKind } from "../../jobs/job-kind.ts";
import { RequestError } from "../../model/errors.ts";
import { parseOtelEndpoint } from "../../model/otel-endpoint.ts";
import { OpenTelemetry } from "../open-telemetry.ts";
import { telemetryLimits } from "../telemetry.ts";
import type { TracedCall } from "../telemetry.ts";
import { traceJobKind, traceLog } from "../traced-store.ts";
import { startSpanReceiver } from "./span-receiver.ts";

const someRequest = { name: "GET /runs", attributes: {}, headers: {} };
const someCall: TracedCall = { name: "read runs.find", attributes: {} };
const noResult = { accepted: 0, duplicates: 0, rejected: [] };

test("calls become children of the span in which they are made, also after awaits", async () => {
  const receiver = await startSpanReceiver();
  const telemetry = new OpenTelemetry({ endpoint: receiver.url });
  const first = telemetry.startRequest({ ...someRequest, name: "first" });
  const second = telemetry.startRequest({ ...someRequest, name: "second" });
  const call = async (name: string): Promise<string> => {
    await Promise.resolve();
    return telemetry.traceCall({ ...someCall, name }, () => Promise.resolve(name));
  };
  expect(
    await Promise.all([first.run(() => call("of first")), second.run(() => call("of second"))]),
  ).toEqual(["of first", "of second"]);
  first.end({ attributes: {} });
  second.end({ attributes: {} });
  await telemetry.close();
  const parents = receiver.spans.map(({ name, parentSpanId }) => [
    name,
    receiver.spans.find(({ spanId }) => spanId === parentSpanId)?.name,
  ]);
  expect(Object.fromEntries(parents)).toEqual({
    first: undefined,
    "of first": "first",
    "of second": "second",
    second: undefined,
  });
  expect(telemetry.counts).toEqual({ exported: 4, dropped: 0 });
});

test("a call outside of a span is made and not recorded", async () => {
  const receiver = await startSpanReceiver();
  const telemetry = new OpenTelemetry({ endpoint: receiver.url });
  expect(await telemetry.traceCall(someCall, () => Promise.resolve(1))).toBe(1);
  await telemetry.close();
  expect(receiver.requests).toEqual([]);
});

test("a failed call names its error and not the message, which may quote a client", async () => {
  const receiver = await startSpanReceiver();
  const telemetry = new OpenTelemetry({ endpoint: receiver.url });
  const request = telemetry.startRequest(someRequest);
  const fail = (cause: Error): Promise<void> =>
    telemetry.traceCall({ ...someCall, name: cause.name }, () => Promise.reject(cause));
  await request.run(async () => {
    await expect(fail(new RequestError(422, "the secret is wrong"))).rejects.toThrow("secret");
    await expect(fail(new TypeError("the secret is missing"))).rejects.toThrow("secret");
  });
  request.end({ attributes: {}, errorType: "500" });
  await telemetry.close();
  expect(
    receiver.spans.map(({ attributes, isError, statusMessage }) => [
      attributes["error.type"],
      isError,
      statusMessage,
    ]),
  ).toEqual([
    ["422", true, ""],
    ["TypeError", true, ""],
    ["500", true, ""],
  ]);
  const texts = JSON.stringify(receiver.spans, (_name, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
  expect(texts).not.toContain("secret");
});

test("a request continues the trace that its client names, unless the client does not sample it", async () => {
  const receiver = await startSpanReceiver();
  const telemetry = new OpenTelemetry({ endpoint: receiver.url });
  for (const [flags, name] of [
    ["01", "sampled"],
    ["00", "not sampled"],
  ]) {
    const headers = { traceparent: `00-${"a1".repeat(16)}-${"b2".repeat(8)}-${flags}` };
    const span = telemetry.startRequest({ name: String(name), attributes: {}, headers });
    await span.run(() => telemetry.traceCall(someCall, () => Promise.resolve()));
    span.end({ attributes: {} });
  }
  const malformed = telemetry.startRequest({
    ...someRequest,
    name: "malformed",
    headers: { traceparent: "00-zz-1-01" },
  });
  malformed.end({ attributes: {} });
  await telemetry.close();
  const described = receiver.spans.map(({ name, traceId, parentSpanId }) => ({
    name,
    isOfClient: traceId === "a1".repeat(16),
    parentSpanId,
  }));
  expect(described).toEqual([
    {
      name: someCall.name,
      isOfClient: true,
      parentSpanId: receiver.spans.find(({ name }) => name === "sampled")?.spanId,
    },
    { name: "sampled", isOfClient: true, parentSpanId: "b2".repeat(8) },
    { name: "malformed", isOfClient: false, parentSpanId: "" },
  ]);
});

test("the calls of one request that become spans are limited, and the others are counted", async () => {
  const receiver = await startSpanReceiver();
  const telemetry = new OpenTelemetry({ endpoint: receiver.url });
  const request = telemetry.startRequest(someRequest);
  await request.run(async () => {
    for (let call = 0; call < telemetryLimits.callsOfSpan + 3; call += 1) {
      await telemetry.traceCall(someCall, () => Promise.resolve());
    }
  });
  request.end({ attributes: {} });
  await telemetry.close();
  expect(receiver.spans.filter(({ name }) => name === someCall.name)).toHaveLength(
    telemetryLimits.callsOfSpan,
  );
  expect(receiver.spans.find(({ name }) => name === someRequest.name)?.attributes).toMatchObject({
    "millrace.calls_without_span": 3,
  });
});

test("spans that the receiver refuses, or that are too many, are counted, with one warning", async () => {
  const receiver = await startSpanReceiver(401);
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const telemetry = new OpenTelemetry({ endpoint: receiver.url });
  const count = telemetryLimits.waitingSpans + 10;
  for (let span = 0; span < count; span += 1) {
    telemetry.startRequest(someRequest).end({ attributes: {} });
  }
  await telemetry.close();
  await expect.poll(() => telemetry.counts).toEqual({ exported: 0, dropped: count });
  expect(warn).toHaveBeenCalledTimes(1);
  expect(String(warn.mock.calls[0]?.[0])).toMatch(
    /^\d+ spans of the server could not be sent to http:\/\/127\.0\.0\.1:\d+: .*OTEL_EXPORTER_OTLP_HEADERS/,
  );
});

test("each step of a job is a trace of its own, with the calls that it makes", async () => {
  const receiver = await startSpanReceiver();
  const telemetry = new OpenTelemetry({ endpoint: receiver.url });
  const log = traceLog({ ingest: () => Promise.resolve(noResult) }, telemetry);
  const kind = traceJobKind(
    defineJobKind({
      name: "some.kind",
      parameters: Type.Object({}),
      prepare: () => Promise.resolve({ title: "Some job" }),
      step: async ({ tenantId }) => {
        await log.ingest(tenantId, { records: [], attachments: [], feedback: [] } as never);
        return { done: 1 };
      },
    }),
    telemetry,
  );
  expect(await kind.prepare("t1", {})).toEqual({ title: "Some job" });
  const context = {
    tenantId: "t1",
    jobId: "j1",
    parameters: {},
    progress: {} as never,
    signal: new AbortController().signal,
  };
  expect(await kind.step(context, null)).toEqual({ done: 1 });
  await telemetry.close();
  const [call, step] = receiver.spans;
  expect(step).toMatchObject({
    name: "job some.kind",
    parentSpanId: "",
    attributes: {
      "millrace.tenant.id": "t1",
      "millrace.job.id": "j1",
      "millrace.job.kind": "some.kind",
    },
  });
  expect(call).toMatchObject({
    name: "log append",
    parentSpanId: step?.spanId,
    attributes: { "messaging.system": "nats" },
  });
});

test("the service is named by the standard variables, and its headers go to the receiver only", async () => {
  vi.stubEnv("OTEL_SERVICE_NAME", "traces of the team");
  vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=topsecret");
  const receiver = await startSpanReceiver();
  const telemetry = new OpenTelemetry({ endpoint: `${receiver.url}/base/` });
  telemetry.startRequest(someRequest).end({ attributes: {} });
  await telemetry.close();
  expect(receiver.requests).toEqual([
    {
      path: "/base/v1/traces",
      headers: expect.objectContaining({ "x-api-key": "topsecret" }) as unknown,
    },
  ]);
  expect(receiver.spans[0]?.resource).toMatchObject({ "service.name": "traces of the team" });
  expect(JSON.stringify(receiver.spans[0]?.resource)).not.toContain("topsecret");
});

test.each([
  "collector:4318",
  "ftp://collector",
  "http://user:topsecret@collector:4318",
  "http://collector:4318?key=topsecret",
  "http://collector:4318#topsecret",
  4318,
])("the endpoint %s is refused without being quoted", (endpoint) => {
  expect(() => parseOtelEndpoint(endpoint)).toThrow(/^otelEndpoint must be an http or https URL/);
  expect(() => parseOtelEndpoint(endpoint)).not.toThrow(/topsecret/);
});
