import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { pollBeside } from "./support/info-poller.ts";
import { call, runServer } from "./support/running-server.ts";

/** Longest time for which one request may hold the HTTP thread. */
const heldMaxMs = 250;

const manyLists = gzipSync(
  Buffer.concat([
    Buffer.from('{"value":[[]'),
    Buffer.from(",[]".repeat(8_300_000 - 1)),
    Buffer.from("]}"),
  ]),
);
const gzip = { "content-encoding": "gzip", "content-type": "application/json" };

test.each(["POST /feedback/tokens/x", "POST /runs/query"])(
  "millions of empty lists sent to %s hold the HTTP thread no longer than any request",
  async (target) => {
    const server = await runServer();
    const { info, result } = await pollBeside(server, () =>
      call(server, target, { body: manyLists, headers: gzip }),
    );
    expect(result.status).toBeGreaterThanOrEqual(400);
    expect(result.status).toBeLessThan(500);
    expect(info.worstMs).toBeLessThan(heldMaxMs);
    expect(info.polls).toBeGreaterThan(0);
  },
);

const run = (id: string, more: string): string =>
  `{"id":"${id}","trace_id":"${id}","dotted_order":"20260101T000000000000Z${id}","name":"x","run_type":"chain","start_time":"2026-01-01T00:00:00Z",${more}}`;
const numbered = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join(",");
const members = numbered(600_000, (index) => `"k${index}":${index}`);
const spans = numbered(
  10_000,
  (index) =>
    `{"traceId":"${"1".repeat(32)}","spanId":"${String(index + 1).padStart(16, "0")}","attributes":[${numbered(8, (at) => `{"key":"k${at}","value":{"stringValue":"v"}}`)}]}`,
);

test.each([
  ["POST /runs", (): string => run(randomUUID(), members)],
  ["POST /runs/batch", (): string => `{"post":[${run(randomUUID(), members)}]}`],
  [
    "POST /runs/batch",
    (): string =>
      `{"post":[${numbered(5_000, (at) => run(randomUUID(), `"extra":{"metadata":{${numbered(50, (key) => `"k${at}.${key}":"v"`)}}}`))}]}`,
  ],
  [
    "POST /otel/v1/traces",
    (): string => `{"resourceSpans":[{"scopeSpans":[{"spans":[${spans}]}]}]}`,
  ],
])(
  "a large body of %s holds the HTTP thread no longer than any request",
  async (target, make) => {
    const server = await runServer();
    const body = Buffer.from(make());
    const headers = { "content-type": "application/json" };
    const { info, result } = await pollBeside(server, () =>
      call(server, target, { body, headers }),
    );
    expect(result.status).toBeLessThan(300);
    expect(info.worstMs).toBeLessThan(heldMaxMs);
  },
  60_000,
);
