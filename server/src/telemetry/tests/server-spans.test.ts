import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { startServer } from "@millrace/server";
import { expect, onTestFinished, test } from "vitest";
import { startSpanReceiver } from "./span-receiver.ts";

const traceparent = `00-${"c3".repeat(16)}-${"d4".repeat(8)}-01`;
const runId = "00000000-0000-4000-8000-0000000000a1";

/** Sends a request and reads its response to the end, after which its span ends. */
async function send(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init);
  await response.clone().text();
  return response;
}

test("each request is a span with its queries and writes below it, without anything that was sent", async () => {
  const receiver = await startSpanReceiver();
  const server = await startServer({
    port: 0,
    dataDir: ":memory:",
    apiKeys: ["topsecret"],
    otelEndpoint: receiver.url,
  });
  const headers = { "x-api-key": "topsecret", "x-request-id": "from-a-test-2" };
  const created = await send(`${server.url}/runs`, {
    method: "POST",
    headers: { ...headers, traceparent },
    body: JSON.stringify({
      id: runId,
      name: "topsecret",
      run_type: "chain",
      inputs: { question: "topsecret" },
    }),
  });
  expect(created.status).toBe(202);
  await send(`${server.url}/runs/${runId}?note=topsecret`, { headers });
  await send(`${server.url}/sessions/topsecret`, { headers: { "x-api-key": "topsecret-wrong" } });
  await server.close();
  const { spans } = receiver;
  const childrenOf = (name: string): readonly string[] => {
    const span = spans.find((other) => other.name === name);
    return spans
      .filter(({ parentSpanId }) => parentSpanId === span?.spanId)
      .map((child) => child.name);
  };
  const post = spans.find(({ name }) => name === "POST /runs");
  expect(post).toMatchObject({
    traceId: "c3".repeat(16),
    parentSpanId: "d4".repeat(8),
    kind: "SERVER",
    isError: false,
    attributes: {
      "http.request.method": "POST",
      "http.route": "/runs",
      "http.response.status_code": 202,
      "millrace.request.id": "from-a-test-2",
      "millrace.tenant.id": expect.stringMatching(/^[\da-f-]{36}$/) as unknown,
    },
    resource: { "service.name": "millrace-server" },
  });
  expect(childrenOf("POST /runs")).toEqual(["write runs.ingest"]);
  expect(childrenOf("GET /runs/:id")).toContain("read runs.find");
  expect(spans.find(({ name }) => name === "read runs.find")?.attributes).toEqual({
    "db.system.name": "sqlite",
    "db.operation.name": "runs.find",
  });
  const refused = spans.find(({ attributes }) => attributes["http.response.status_code"] === 401);
  expect(refused).toMatchObject({ name: "GET /sessions/:id", isError: false });
  expect(refused?.attributes).not.toHaveProperty("millrace.tenant.id");
  const texts = JSON.stringify(spans, (_name, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
  expect(texts).not.toContain("topsecret");
});

test("a server closes although the receiver of its spans does not answer", async () => {
  const silent = createServer(() => undefined);
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const server = await startServer({
    port: 0,
    dataDir: ":memory:",
    otelEndpoint: `http://127.0.0.1:${port}`,
  });
  await send(`${server.url}/info`);
  // The packages of OpenTelemetry would wait for the receiver, and try again.
  await server.close();
  await expect(fetch(`${server.url}/info`)).rejects.toThrow("fetch failed");
});

/** The text of a bundle, and of all chunks that are loaded with it. */
async function readLoaded(bundle: URL): Promise<string> {
  const text = await readFile(bundle, "utf8");
  const imports = [...text.matchAll(/\b(?:import|export)\b[^;"]*from\s*"(\.[^"]+)"/g)];
  const chunks = imports.map(([, path = ""]) => readLoaded(new URL(path, bundle)));
  return [text, ...(await Promise.all(chunks))].join("\n");
}

test("a server without an endpoint loads none of the packages of OpenTelemetry", async () => {
  const read = (name: string) => readLoaded(new URL(`../../../dist/${name}`, import.meta.url));
  expect(await read("otel.js")).toContain("BatchSpanProcessor");
  expect(await read("server.worker.js")).not.toContain("BatchSpanProcessor");
});
