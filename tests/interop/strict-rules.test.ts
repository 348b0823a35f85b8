import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { strictServer } from "./strict-server.ts";
import type { Rule, StrictOptions } from "./strict-server.ts";

// Tests of the strict server itself: correct requests pass, and each rule is broken once and reported.

const rootId = "11111111-1111-4111-8111-111111111111";
const childId = "22222222-2222-4222-8222-222222222222";
const otherId = "33333333-3333-4333-8333-333333333333";
const rootOrder = `20261121T101112345000Z${rootId}`;
const childOrder = `${rootOrder}.20261121T101112345001Z${childId}`;

const root = {
  id: rootId,
  trace_id: rootId,
  dotted_order: rootOrder,
  name: "root",
  run_type: "chain",
  start_time: "2026-11-21T10:11:12.345000Z",
  session_name: "default",
};
const child = {
  ...root,
  id: childId,
  parent_run_id: rootId,
  dotted_order: childOrder,
  start_time: 1_795_255_872_345,
};

interface BrokenRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly options?: Partial<StrictOptions>;
}

const batch = (post: readonly unknown[], patch: readonly unknown[] = []): BrokenRequest => ({
  path: "/runs/batch",
  body: JSON.stringify({ post, patch }),
});

const call = (method: string, path: string, json?: unknown): BrokenRequest => ({
  method,
  path,
  ...(json === undefined ? {} : { body: JSON.stringify(json) }),
});

type PartOf = readonly [name: string, value: unknown, head?: string];

const form = (...parts: readonly PartOf[]): BrokenRequest => {
  const texts = parts.map(([name, value, head]) => {
    const json = typeof value === "string" ? value : JSON.stringify(value);
    const lines = head ?? `Content-Type: application/json; length=${Buffer.byteLength(json)}`;
    return `--b\r\nContent-Disposition: form-data; name="${name}"\r\n${lines}\r\n\r\n${json}\r\n`;
  });
  return {
    path: "/runs/multipart",
    headers: { "content-type": "multipart/form-data; boundary=b" },
    body: `${texts.join("")}--b--\r\n`,
  };
};

const post: PartOf = [`post.${rootId}`, root];

async function send(endpoint: string, { method = "POST", path, headers, body }: BrokenRequest) {
  const response = await fetch(endpoint + path, {
    method,
    headers: { "x-api-key": "key", "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body }),
  });
  await response.text();
}

async function rulesBrokenBy(...requests: readonly BrokenRequest[]): Promise<readonly Rule[]> {
  const options = requests.find((one) => one.options !== undefined)?.options;
  await using server = await strictServer({ apiKey: "key", ...options });
  for (const request of requests) {
    await send(server.endpoint, request);
  }
  return server.violations().map(({ rule }) => rule);
}

describe("correct requests pass", () => {
  test.each<[string, BrokenRequest]>([
    ["a batch", batch([root, child], [{ ...child, end_time: null, outputs: { a: 1 } }])],
    ["parts", form(post, [`post.${rootId}.inputs`, { a: 1 }], [`patch.${childId}`, child])],
    ["one run", call("POST", "/runs", { id: rootId, name: "root", run_type: "llm" })],
    ["a part of a run", call("PATCH", `/api/v1/runs/${rootId}`, { end_time: 5, error: null })],
    ["a query", call("GET", `/sessions?limit=5&id=${rootId}&id=${childId}&metadata=%7B%7D`)],
    ["a body", call("POST", "/feedback", { key: "k", run_id: rootId, score: 0.5 })],
    ["a list", call("POST", `/annotation-queues/${rootId}/runs`, [rootId, childId])],
  ])("%s", async (_what, request) => {
    expect(await rulesBrokenBy(request)).toEqual([]);
  });
});

/** Requests that break each rule; the last of several requests breaks it. */
const requestsByRule: Readonly<Record<Exclude<Rule, "http">, readonly BrokenRequest[]>> = {
  key: [{ ...batch([root]), headers: { "x-api-key": "other" } }],
  encoding: [
    {
      ...batch([root]),
      headers: { "content-encoding": "gzip" },
      body: Uint8Array.from(gzipSync(JSON.stringify({ post: [root] }))),
      options: { encodings: ["gzip"] },
    },
  ],
  row: [call("GET", "/nowhere")],
  "operations-limit": [
    call("GET", "/info"),
    { ...batch([root, child]), options: { limits: { operations: 1, bytes: 1_000_000 } } },
  ],
  "bytes-limit": [
    call("GET", "/info"),
    { ...batch([root, child]), options: { limits: { operations: 9, bytes: 300 } } },
  ],
  twice: [batch([root]), batch([root])],
  "content-type": [{ ...batch([root]), headers: { "content-type": "text/plain" } }],
  json: [{ path: "/runs/batch", body: "{" }],
  "batch-shape": [{ path: "/runs/batch", body: JSON.stringify({ posts: [] }) }],
  "run-object": [batch([7])],
  "run-required": [batch([{ ...root, trace_id: undefined }])],
  "run-type": [batch([{ ...root, run_type: "agent" }])],
  "run-time": [batch([{ ...root, start_time: "2026-11-21T10:11:12.3450001Z" }])],
  "dotted-shape": [batch([{ ...root, dotted_order: `20261121T101112345Z${rootId}` }])],
  "dotted-own": [batch([{ ...child, dotted_order: `${childOrder.slice(0, -36)}${otherId}` }])],
  "dotted-trace": [batch([{ ...child, trace_id: otherId }])],
  "dotted-root": [batch([{ ...root, parent_run_id: otherId }])],
  "dotted-parent": [
    batch([root, { ...child, dotted_order: childOrder.replace("101112345000", "101112345999") }]),
  ],
  "dotted-siblings": [
    batch([
      root,
      child,
      { ...child, id: otherId, dotted_order: childOrder.replace(childId, otherId) },
    ]),
  ],
  boundary: [{ ...form(post), body: "--c--\r\n" }],
  "part-head": [form([...post.slice(0, 2), "X-Injected: 1"] as unknown as PartOf)],
  "part-name": [form(post, [`post.${rootId}.tags`, []])],
  "part-length": [form([post[0], root, "Content-Type: application/json; length=5"])],
  "part-type": [form([post[0], root, `Content-Length: ${JSON.stringify(root).length}`])],
  "part-json": [form(post, [`post.${rootId}.inputs`, "{"])],
  "part-order": [form([`patch.${childId}`, child], post)],
  "part-owner": [form([`post.${rootId}.inputs`, {}])],
  "part-envelope": [form([post[0], { ...root, inputs: {} }])],
  "part-id": [form([`post.${otherId}`, root])],
  "part-twice": [form(post, post)],
  "member-type": [call("POST", "/feedback", { key: 7, run_id: rootId })],
  "member-missing": [call("POST", "/feedback", { run_id: rootId })],
  "member-unknown": [call("POST", "/feedback", { key: "k", colour: "red" })],
  "no-body": [call("DELETE", `/feedback/${rootId}`, {})],
  "query-unknown": [call("GET", "/sessions?colour=red")],
  "query-missing": [call("GET", "/feedback/tokens")],
  "query-type": [call("GET", "/sessions?limit=ten")],
};

describe("each broken rule is reported", () => {
  test.each(Object.entries(requestsByRule))("%s", async (rule, requests) => {
    const before = await rulesBrokenBy(...requests.slice(0, -1));
    expect(before).toEqual([]);
    const after = await rulesBrokenBy(...requests);
    expect([...new Set(after)]).toEqual([rule]);
  });

  test("http", async () => {
    await using server = await strictServer({ apiKey: "key" });
    const socket = connect(Number(new URL(server.endpoint).port));
    socket.end("POST /runs HTTP/1.1\r\nhost: x\r\nx-api-key: key\r\ncontent-length: 9\r\n\r\n{}");
    socket.resume();
    await once(socket, "close");
    await expect.poll(() => server.violations().map(({ rule }) => rule)).toContain("http");
  });
});

test("a refused operation may be sent again", async () => {
  const options = { onIngest: (count: number) => (count === 1 ? { status: 503 } : undefined) };
  expect(await rulesBrokenBy({ ...batch([root]), options }, batch([root]))).toEqual([]);
});
