import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { textOf } from "../support/dataset-fixture.ts";
import { hubTenants } from "../support/hub-tenants.ts";
import type { HubTenants } from "../support/hub-tenants.ts";
import { pollBeside, pollInfo, pollWrites } from "../support/info-poller.ts";
import { call, runServer } from "../support/running-server.ts";
import type { CallResult } from "../support/running-server.ts";

/** Maximum milliseconds for which one request may block the HTTP thread, or delay another tenant's write. */
const maxBlockedMs = 250;
const writeMaxMs = 1_000;

const manyLists = gzipSync(
  Buffer.concat([
    Buffer.from('{"value":[[]'),
    Buffer.from(",[]".repeat(8_300_000 - 1)),
    Buffer.from("]}"),
  ]),
);
const gzip = { "content-encoding": "gzip", "content-type": "application/json" };

test.each(["POST /feedback/tokens/x", "POST /runs/query"])(
  "millions of empty lists sent to %s block the HTTP thread no longer than other requests",
  async (target) => {
    const server = await runServer();
    const { info, result } = await pollBeside(server, () =>
      call(server, target, { body: manyLists, headers: gzip }),
    );
    expect(result.status).toBeGreaterThanOrEqual(400);
    expect(result.status).toBeLessThan(500);
    expect(info.worstMs).toBeLessThan(maxBlockedMs);
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
  "a large body of %s blocks the HTTP thread no longer than other requests",
  async (target, make) => {
    const server = await runServer();
    const body = Buffer.from(make());
    const headers = { "content-type": "application/json" };
    const { info, result } = await pollBeside(server, () =>
      call(server, target, { body, headers }),
    );
    expect(result.status).toBeLessThan(300);
    expect(info.worstMs).toBeLessThan(maxBlockedMs);
  },
  60_000,
);

/** Polls `/info` and writes as another tenant while a request runs; returns the response. */
async function watch({ server, keys }: HubTenants, request: () => Promise<CallResult>) {
  const info = await pollInfo(server);
  const writes = await pollWrites(server, { "x-api-key": keys.you });
  const response = await request();
  const [polled, written] = [await info.stop(), await writes.stop()];
  expect([response.status, response.text.slice(0, 300)]).toEqual([200, expect.any(String)]);
  expect(polled.worstMs).toBeLessThan(maxBlockedMs);
  expect(written.worstMs).toBeLessThan(writeMaxMs);
  expect(written.polls).toBeGreaterThan(0);
  return response;
}

test("large lists of examples block neither the HTTP thread nor another tenant's writes", async () => {
  const hub = await hubTenants();
  const { json } = await hub.me("POST /datasets", { name: "large" });
  const dataset_id = textOf(json["id"]);
  const ids = Array.from({ length: 25_000 }, () => randomUUID());
  const list = ids.map((id, at) => ({ id, dataset_id, inputs: { at }, split: ["a", "b"] }));
  const created = JSON.stringify(list);
  await watch(hub, () => hub.me("POST /examples/bulk", created));
  const changes = JSON.stringify(ids.map((id, at) => ({ id, outputs: { at } })));
  await watch(hub, () => hub.me("PATCH /examples/bulk", changes));
  const one = `{"dataset_id":"${dataset_id}","inputs":{},"metadata":{${members}}}`;
  const { json: example } = await watch(hub, () => hub.me("POST /examples", one));
  const id = textOf(example["id"]);
  await watch(hub, () => hub.me(`PATCH /examples/${id}`, '{"split":["c"]}'));
  const { json: dataset } = await hub.me(`GET /datasets/${dataset_id}`);
  expect(dataset["example_count"]).toBe(ids.length + 1);
}, 120_000);

test("a project with many runs is deleted while others write", async () => {
  const hub = await hubTenants();
  const post = (first: number): string =>
    `{"post":[${numbered(5_000, () => run(randomUUID(), `"session_name":"gone","inputs":{"first":${first}}`))}]}`;
  for (let first = 0; first < 10_000; first += 5_000) {
    expect((await hub.me("POST /runs/batch", post(first))).status).toBe(202);
  }
  const { json } = await hub.me("GET /sessions?name=gone");
  const id = textOf(json[0]?.["id"]);
  await watch(hub, () => hub.me(`DELETE /sessions/${id}`));
  expect((await hub.me(`GET /sessions/${id}`)).status).toBe(404);
  const left = await hub.me("POST /runs/query", { session: [id] });
  expect(left.json["runs"] ?? []).toEqual([]);
}, 120_000);
