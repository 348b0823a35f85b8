import { expect, test } from "vitest";
import { ActivityHistory } from "../activity-history.ts";
import { SdkClients } from "../sdk-clients.ts";
import type { Activity } from "../../runs/activity.ts";
import { bucketGrowth, toLatencyBucket } from "../../runs/activity.ts";
import { call, runOwnServer, runServer, textOf } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

const ended = (fields: Readonly<Record<string, unknown>> = {}) =>
  wireRun({
    start_time: "2026-11-21T10:11:12.345678Z",
    end_time: "2026-11-21T10:11:12.445678Z",
    session_name: "live",
    ...fields,
  });

/** Reads events of the feed until one meets the condition. */
async function watchUntil(
  url: string,
  isEnough: (seconds: readonly Json[], event: Json) => boolean,
): Promise<readonly Json[]> {
  const response = await fetch(`${url}/ui/live`);
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const seconds: Json[] = [];
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) {
      return seconds;
    }
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = JSON.parse(block.replace(/^data: /, "")) as Json;
      seconds.push(...(event["seconds"] as unknown as Json[]));
      if (isEnough(seconds, event)) {
        await reader.cancel();
        return seconds;
      }
    }
  }
}

const total = (seconds: readonly Json[], name: string): number =>
  seconds
    .flatMap(({ projects }) => Object.values(projects as unknown as Record<string, Json>))
    .reduce((sum, counts) => sum + Number(counts[name]), 0);

test("connected UIs receive what was stored: runs, traces, errors, tokens, each once", async () => {
  const server = await runServer();
  const root = ended({ error: "no", end_time: undefined });
  const child = ended({
    parent: root,
    micros: someMicros + 1,
    run_type: "llm",
    outputs: { usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } },
  });
  await call(server, "POST /runs/batch", { body: { post: [root, child] } });
  const patch = { id: root.id, trace_id: root.trace_id, dotted_order: root.dotted_order };
  await call(server, "POST /runs/batch", {
    body: { patch: [{ ...patch, end_time: "2026-11-21T10:11:12.445678Z" }] },
  });
  // Sent again: duplicates are not counted.
  await call(server, "POST /runs/batch", { body: { post: [root, child] } });
  const seconds = await watchUntil(server.url, (all) => total(all, "traces") > 0);
  expect(total(seconds, "runs")).toBe(2);
  expect(total(seconds, "traces")).toBe(1);
  expect(total(seconds, "errors")).toBe(1);
  expect(total(seconds, "tokens")).toBe(7);
  const [counts] = Object.values(seconds.at(-1)!["projects"] as unknown as Record<string, Json>);
  const [[bucket]] = counts!["latencies"] as unknown as [[number]];
  const latency = bucketGrowth ** bucket;
  expect(Math.abs(latency - 100_000) / 100_000).toBeLessThan(0.05);
});

test("a tenant receives nothing of another's", async () => {
  const server = await runOwnServer();
  const other = await call(server, "POST /ui/tenants", { body: { handle: "other" } });
  const headers = { "x-tenant-id": textOf(other.json["id"]) };
  await call(server, "POST /runs/batch", { body: { post: [ended()] }, headers });
  await call(server, "POST /runs/batch", { body: { post: [ended()] } });
  const seconds = await watchUntil(server.url, (all) => total(all, "runs") > 0);
  expect(total(seconds, "runs")).toBe(1);
});

test("closing the server ends the feed of its listeners", async () => {
  const server = await runOwnServer();
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const watching = watchUntil(server.url, () => {
    begin();
    return false;
  });
  await begun;
  await server.close();
  expect(await watching).toEqual([]);
});

test("the feed ends when its client is no longer authorized: without a key once there is one, or with a revoked one", async () => {
  const server = await runOwnServer();
  const open = await fetch(`${server.url}/ui/live`);
  const key = (await call(server, "POST /ui/keys", { body: { name: "k" } })).json;
  const headers = { "x-api-key": textOf(key["key"]) };
  const keyed = await fetch(`${server.url}/ui/live`, { headers });
  expect(await open.text()).toMatch(/^data: /);
  await call(server, `DELETE /ui/keys/${textOf(key["id"])}`, { headers });
  expect(await keyed.text()).toMatch(/^data: /);
});

test("listeners beyond the limit get 503 and Retry-After", async () => {
  const server = await runOwnServer();
  const controller = new AbortController();
  const { signal } = controller;
  const statuses: number[] = [];
  for (let index = 0; index < 65; index += 1) {
    statuses.push((await fetch(`${server.url}/ui/live`, { signal })).status);
  }
  controller.abort();
  expect(statuses.slice(0, 64).every((status) => status === 200)).toBe(true);
  expect(statuses[64]).toBe(503);
});

const report = {
  id: "0a1b2c3d-0000-4000-8000-000000000000",
  project: "live",
  pid: 42,
  version: "0.1.0",
  accepted: 10,
  delivered: 7,
  rejected: 1,
  dropped: 0,
  spooled: 1,
  pending: 1,
};

test("the counts of an SDK client are sent to connected UIs; an invalid report is rejected", async () => {
  const server = await runServer();
  expect((await call(server, "POST /ui/senders", { body: report })).status).toBe(202);
  let senders: Json | undefined;
  await watchUntil(server.url, (_, event) => {
    senders = event["senders"];
    return true;
  });
  expect(senders).toMatchObject([report]);
  for (const wrong of [
    { ...report, id: "x" },
    { ...report, accepted: -1 },
    { ...report, pid: "" },
  ]) {
    expect((await call(server, "POST /ui/senders", { body: wrong })).status).toBe(422);
  }
  const info = await call(server, "GET /info");
  expect(info.json["instance_flags"]?.["millrace_sender_stats"]).toBe(true);
});

test("a client is removed after a minute without reports, and the oldest of too many at once", () => {
  let now = 0;
  const senders = new SdkClients(() => now);
  senders.report("t", report);
  now = 60_000;
  expect(senders.list("t")).toHaveLength(1);
  now = 60_001;
  expect(senders.list("t")).toEqual([]);
  for (let index = 0; index < 600; index += 1) {
    senders.report("t", { ...report, id: String(index) });
  }
  expect(senders.list("t")).toHaveLength(500);
  expect(senders.list("t")[0]?.id).toBe("100");
});

const counted = (projectId: string, runs = 1): Activity => ({
  tenantId: "t",
  projectId,
  runs,
  traces: 0,
  errors: 0,
  tokens: 0,
  cost: 0,
  latencies: [[3, 1]],
});

test("the history keeps a limited time span and a limited number of projects", () => {
  const history = new ActivityHistory(300);
  history.add([counted("a")], 1_000);
  history.add([counted("a"), counted("a", 2)], 1_300);
  expect(history.read("t", 0, 2_000).map(({ at }) => at)).toEqual([1_000, 1_300]);
  history.add([counted("a")], 1_301);
  const kept = history.read("t", 0, 2_000);
  expect(kept.map(({ at }) => at)).toEqual([1_300, 1_301]);
  expect(kept[0]?.projects["a"]).toMatchObject({ runs: 3, latencies: [[3, 2]] });
  for (let index = 0; index < 600; index += 1) {
    history.add([counted(`p${index}`)], 1_302);
  }
  expect(Object.keys(history.read("t", 1_302, 1_303)[0]?.projects ?? {})).toHaveLength(500);
});

test("latency buckets are ordered, and none is below the first", () => {
  expect([0, 1, 1.05, 1.06, 1e12].map(toLatencyBucket)).toEqual([0, 0, 1, 2, 567]);
});
