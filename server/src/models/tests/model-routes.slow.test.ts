import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { RunningServer, ServerOptions } from "@millrace/server";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  call,
  runOwnServer,
  temporaryFolder,
  textOf,
} from "../../../tests/support/running-server.ts";
import { createAnswer, sendStream, startEndpoint } from "./fake-endpoint.ts";
import { toStream } from "./scripted-transport.ts";
import { endpointKey as apiKey, useModelServer } from "./shared-model-server.ts";

const request = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hello" }] };

const openScene = useModelServer();

/** A server of the test's own, for other options, another endpoint or its end. */
const start = (url: string, options: ServerOptions = {}) =>
  runOwnServer({ modelEndpoints: [{ name: "local", url, apiKey }], ...options });

/** Longest wait for what another process does, on a busy machine. */
const waitMs = 15_000;

/** The headers that the page of the server sends. */
const pageHeaders = (server: RunningServer, rest: Readonly<Record<string, string>> = {}) => ({
  origin: server.url,
  "sec-fetch-site": "same-origin",
  "content-type": "application/json",
  "x-model-session": "session-of-one-tab",
  ...(server.modelToken === undefined ? {} : { "x-model-token": server.modelToken }),
  ...rest,
});

interface EndEvent {
  readonly runId?: string;
  readonly failure?: { readonly kind: string; readonly message: string; readonly status?: number };
  readonly cost?: { readonly total?: number; readonly reason?: string };
  readonly usage?: object;
}

/** Calls the model, and returns what the page receives. */
async function callModel(
  server: RunningServer,
  {
    headers = {},
    ...body
  }: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly [member: string]: unknown;
  } = {},
) {
  const response = await call(server, "POST /ui/models/calls", {
    headers: pageHeaders(server, headers),
    body: { endpoint: "local", request, record: false, ...body },
  });
  const events = [...response.text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(
    ([, name, data = "null"]) => [name, JSON.parse(data) as unknown] as const,
  );
  const end = (events.find(([name]) => name === "end")?.[1] ?? {}) as EndEvent;
  const text = events
    .filter(([name]) => name === "delta")
    .map(([, delta]) => (delta as { readonly text?: string }).text ?? "")
    .join("");
  return { ...response, end, streamedText: text };
}

describe("who may call models", () => {
  test("a server without endpoints calls nothing, and says how the operator names one", async () => {
    const server = await runOwnServer({});
    expect(server.modelToken).toBeUndefined();
    const { json } = await call(server, "GET /ui/models");
    expect(json).toMatchObject({ endpoints: [], needs_token: true });
    const keys = { modelEndpoints: [], apiKeys: ["a-key"] };
    const withKey = await runOwnServer(keys);
    const refused = await callModel(withKey, { headers: { "x-api-key": "a-key" } });
    expect(refused.status).toBe(404);
    expect(refused.text).toContain("--model-endpoint NAME=URL");
  });

  test("without keys, the token that the console prints is needed, and none other works", async () => {
    const { server, endpoint } = await openScene((response) =>
      sendStream(response, createAnswer("Hi")),
    );
    expect(server.modelToken).toMatch(/^[\w-]{22}$/);
    for (const token of ["", "wrong", `${server.modelToken}x`]) {
      const refused = await callModel(server, { headers: { "x-model-token": token } });
      expect(refused).toMatchObject({
        status: 403,
        text: expect.stringMatching(/token/) as string,
      });
      const key = await call(server, "PUT /ui/models/local/key", {
        headers: pageHeaders(server, { "x-model-token": token }),
        body: { key: "sk-other" },
      });
      expect(key.status).toBe(403);
    }
    expect(endpoint.calls).toEqual([]);
    expect((await callModel(server)).streamedText).toBe("Hi");
    const list = await call(server, "GET /ui/models", { headers: pageHeaders(server) });
    expect(list.json).toMatchObject({ needs_token: false });
  });

  test("with keys, the key of a tenant suffices, and there is no token", async () => {
    const endpoint = await startEndpoint((response) => sendStream(response, createAnswer("Hi")));
    const server = await start(endpoint.url, { apiKeys: ["a-key"] });
    expect(server.modelToken).toBeUndefined();
    expect((await callModel(server)).status).toBe(401);
    const headers = { "x-api-key": "a-key" };
    expect((await callModel(server, { headers })).streamedText).toBe("Hi");
  });

  test.each([
    ["no Origin", { origin: "" }],
    ["a page of another port of this machine", { origin: "http://127.0.0.1:1" }],
    ["a page of another site", { origin: "https://evil.test" }],
    ["an opaque origin", { origin: "null" }],
    ["a page of the same site", { "sec-fetch-site": "same-site" }],
  ])("%s may not call models", async (_name, headers) => {
    const { server, endpoint } = await openScene((response) =>
      sendStream(response, createAnswer("Hi")),
    );
    expect((await callModel(server, { headers })).status).toBe(403);
    expect(endpoint.calls).toEqual([]);
  });
});

describe("keys", () => {
  test("the operator's key goes to its endpoint, and no response contains it", async () => {
    const { server, endpoint } = await openScene((response) =>
      sendStream(response, createAnswer("Hi")),
    );
    const answer = await callModel(server);
    expect(endpoint.calls[0]?.headers["authorization"]).toBe(`Bearer ${apiKey}`);
    const list = await call(server, "GET /ui/models");
    expect(answer.text + list.text).not.toContain(apiKey);
    expect(list.json).toMatchObject({
      endpoints: [
        {
          name: "local",
          protocol: "openai",
          has_key: true,
          is_private: true,
          key_variable: "MILLRACE_MODEL_KEY_LOCAL",
          session_key_expires_at: null,
        },
      ],
    });
  });

  test("a key that a user enters is used by this session only, for this endpoint, until it is removed", async () => {
    const endpoint = await startEndpoint((response) => sendStream(response, createAnswer("Hi")));
    const other = await startEndpoint((response) => sendStream(response, createAnswer("Hi")));
    const server = await runOwnServer({
      modelEndpoints: [
        { name: "local", url: endpoint.url },
        { name: "other", url: other.url },
      ],
    });
    const headers = pageHeaders(server);
    const set = await call(server, "PUT /ui/models/local/key", {
      headers,
      body: { key: "sk-entered" },
    });
    expect(set.status).toBe(200);
    expect(Date.parse(textOf(set.json["expires_at"]))).toBeGreaterThan(Date.now());
    await callModel(server);
    await callModel(server, { headers: { "x-model-session": "session-of-another" } });
    await callModel(server, { endpoint: "other" });
    await call(server, "DELETE /ui/models/local/key", { headers });
    await callModel(server);
    expect(endpoint.calls.map((received) => received.headers["authorization"])).toEqual([
      "Bearer sk-entered",
      undefined,
      undefined,
    ]);
    expect(other.calls[0]?.headers["authorization"]).toBeUndefined();
    const bad = await call(server, "PUT /ui/models/local/key", { headers, body: { key: "a b" } });
    expect(bad).toMatchObject({ status: 422, text: expect.not.stringContaining("a b") as string });
  });
});

describe("the answer", () => {
  test("is streamed while it arrives, and ended at the endpoint when the page goes away", async () => {
    const { server, endpoint } = await openScene((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(toStream([{ choices: [{ delta: { content: "Hello" } }] }]));
    });
    const controller = new AbortController();
    const response = await fetch(`${server.url}/ui/models/calls`, {
      method: "POST",
      headers: pageHeaders(server),
      body: JSON.stringify({ endpoint: "local", request, record: true }),
      signal: controller.signal,
    });
    const reader = response.body!.getReader();
    const chunk = (await reader.read()) as { readonly value?: Uint8Array };
    expect(Buffer.from(chunk.value ?? []).toString()).toBe(
      'event: delta\ndata: {"kind":"text","text":"Hello"}\n\n',
    );
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    controller.abort();
    await expect.poll(() => endpoint.closedEarly, { timeout: waitMs }).toBe(1);
    await expect
      .poll(async () => (await runsOf(server))[0], { timeout: waitMs })
      .toMatchObject({
        error: "The call was canceled.",
        outputs: { choices: [{ message: { content: "Hello" } }] },
      });
  });

  test("is recorded in the project playground with its cost, and not if the page says so", async () => {
    const { server } = await openScene((response) => sendStream(response, createAnswer("Hi")));
    await call(server, "PUT /ui/prices", {
      body: { prices: [{ model: "gpt-4o-mini", prices: { input: 1, output: 2 } }] },
    });
    expect((await callModel(server, { record: false })).end.runId).toBeUndefined();
    const source = { prompt: "support:abc" };
    const settings = { temperature: 0.5, maxTokens: 5 };
    const { end } = await callModel(server, {
      record: true,
      source,
      request: { ...request, settings },
    });
    expect(end.cost).toEqual({ total: 0.00004, prompt: 0.00002, completion: 0.00002 });
    const runs = await runsOf(server);
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({
      id: end.runId,
      run_type: "llm",
      inputs: { model: "gpt-4o-mini", messages: request.messages, temperature: 0.5, max_tokens: 5 },
      outputs: {
        choices: [{ message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
      },
      total_tokens: 30,
      total_cost: "0.00004",
      extra: {
        metadata: { model_endpoint: "local", prompt: "support:abc", ls_model_name: "gpt-4o-mini" },
      },
    });
    expect(runs[0]?.["first_token_time"]).toEqual(expect.any(String));
  });

  test("with a prompt and variables is a call below a run with their values, as LangSmith names them", async () => {
    const { server } = await openScene((response) => sendStream(response, createAnswer("Hi")));
    const hash = "ab".repeat(32);
    const variables = { question: "Why?", history: [{ role: "user", content: "Hi" }] };
    const { end } = await callModel(server, {
      record: true,
      source: { prompt: `acme/support:${hash}`, variables },
    });
    const prompt = {
      prompt: `acme/support:${hash}`,
      prompt_name: "acme/support",
      prompt_commit: hash,
      lc_hub_owner: "acme",
      lc_hub_repo: "support",
      lc_hub_commit_hash: hash,
    };
    const runs = await runsOf(server);
    const root = runs.find((run) => run["run_type"] === "chain");
    const child = runs.find((run) => run["run_type"] === "llm");
    expect(runs).toHaveLength(2);
    expect(root).toMatchObject({
      name: "Playground",
      inputs: variables,
      outputs: { output: "Hi" },
      extra: { metadata: prompt },
    });
    expect(child).toMatchObject({
      id: end.runId,
      parent_run_id: root?.["id"],
      trace_id: root?.["id"],
      inputs: { messages: request.messages },
      extra: { metadata: { ...prompt, model_endpoint: "local" } },
    });
    // The name of a prompt that is none is kept as it is, and links to nothing.
    await callModel(server, { record: true, source: { prompt: "a/b/c" } });
    const unnamed = (await runsOf(server)).find((run) => JSON.stringify(run).includes("a/b/c"));
    expect(unnamed?.["extra"]).toMatchObject({ metadata: { prompt: "a/b/c" } });
    expect(JSON.stringify(unnamed)).not.toContain("lc_hub_repo");
  });

  test("a model on this machine has no public price, so its cost is unknown and not guessed", async () => {
    const endpoint = await startEndpoint((response) => sendStream(response, createAnswer("Hi")));
    const { end } = await callModel(await start(endpoint.url, { modelBudget: 1 }));
    expect(end.cost?.reason).toMatch(
      /No price is known for the model "gpt-4o-mini" of the provider "local"/,
    );
  });

  test("a request that is malformed is refused before anything is called", async () => {
    const { server, endpoint } = await openScene((response) =>
      sendStream(response, createAnswer("Hi")),
    );
    for (const body of [
      { request: { model: "m", messages: [] } },
      { request: { ...request, settings: { temperature: -1 } } },
      { request: { ...request, messages: [{ role: "root", content: "" }] } },
      { record: "yes" },
    ]) {
      expect((await callModel(server, body)).status).toBe(422);
    }
    expect(await callModel(server, { endpoint: "none" })).toMatchObject({
      status: 404,
      text: expect.stringContaining("use one of local") as string,
    });
    expect(endpoint.calls).toEqual([]);
  });
});

describe("endpoints that misbehave", () => {
  test("an error that echoes the key reaches the page and the run without it", async () => {
    const { server } = await openScene((response, { headers }) => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `Incorrect: ${headers.authorization}` } }));
    });
    const { end, text } = await callModel(server, { record: true });
    expect(end.failure).toEqual({
      kind: "unauthorized",
      status: 401,
      message: "401: Incorrect: Bearer [key]",
    });
    const stored = JSON.stringify(await runsOf(server));
    expect(stored).toContain("Incorrect: Bearer [key]");
    expect(text + stored).not.toContain(apiKey);
  });

  test("a redirect into the own network is not followed", async () => {
    const inner = await startEndpoint((response) => sendStream(response, createAnswer("secret")));
    const { server } = await openScene((response) => {
      response.writeHead(307, { location: `${inner.url}/chat/completions?key=abc` });
      response.end();
    });
    const { end } = await callModel(server);
    expect(end.failure).toMatchObject({
      kind: "unreachable",
      message: expect.stringMatching(/redirects \(307\)/) as string,
    });
    expect(end.failure?.message).not.toContain("abc");
    expect(inner.calls).toEqual([]);
  });

  test("a name with a private address is not called unless the operator says that it is private", async () => {
    const server = await start("https://localtest.localhost.test:9/v1");
    const { end } = await callModel(server);
    expect(end.failure?.kind).toBe("unreachable");
  });

  test("429 says when to try again, and a page of HTML what is wrong", async () => {
    const busy = await openScene((response) => {
      response.writeHead(429, { "retry-after": "7", "content-type": "application/json" });
      response.end('{"error":{"message":"slow down"}}');
    });
    expect((await callModel(busy.server)).end.failure).toEqual({
      kind: "rateLimited",
      status: 429,
      message: "429: slow down",
      retryAfterSeconds: 7,
    });
    const page = await openScene((response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.end("<script>alert(1)</script>");
    });
    expect((await callModel(page.server)).end.failure?.message).toMatch(/text\/html/);
  });

  test("the server closes while an endpoint drips", async () => {
    let timer: NodeJS.Timeout | undefined;
    const endpoint = await startEndpoint((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      timer = setInterval(() => response.write(":"), 20);
    });
    onTestFinished(() => clearInterval(timer));
    const server = await start(endpoint.url);
    const pending = fetch(`${server.url}/ui/models/calls`, {
      method: "POST",
      headers: pageHeaders(server),
      body: JSON.stringify({ endpoint: "local", request, record: false }),
    }).then((response) => response.text(), String);
    await expect.poll(() => endpoint.calls.length, { timeout: waitMs }).toBe(1);
    await delay(50);
    const startMs = performance.now();
    await server.close();
    expect(performance.now() - startMs).toBeLessThan(10_000);
    expect(await pending).toMatch(/canceled|failed|terminated/);
    await expect.poll(() => endpoint.closedEarly, { timeout: waitMs }).toBe(1);
  });
});

describe("limits of the operator", () => {
  test("more calls in a minute than allowed are refused, each tenant for itself", async () => {
    const endpoint = await startEndpoint((response) => sendStream(response, createAnswer("Hi")));
    const server = await start(endpoint.url, { modelRate: 2 });
    await callModel(server);
    await callModel(server);
    const refused = await callModel(server);
    expect(refused.status).toBe(429);
    expect(refused.text).toContain("more than 2 model calls in a minute");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(50);
    expect(endpoint.calls).toHaveLength(2);
    const other = await call(server, "POST /ui/tenants", { body: { handle: "other" } });
    const headers = { "x-tenant-id": textOf(other.json["id"]) };
    expect((await callModel(server, { headers })).status).toBe(200);
  });

  test("the budget of a day holds over a restart, and counts what calls did cost", async () => {
    const endpoint = await startEndpoint((response) => sendStream(response, createAnswer("Hi")));
    const dataDir = await temporaryFolder();
    const options = { dataDir, modelBudget: 0.03 };
    const first = await start(endpoint.url, options);
    await call(first, "PUT /ui/prices", {
      body: { prices: [{ model: "gpt-4o-mini", prices: { input: 1, output: 1_000 } }] },
    });
    const limited = { ...request, settings: { maxTokens: 12 } };
    expect((await callModel(first, { request: limited })).end.cost).toMatchObject({
      total: 0.01002,
    });
    expect((await call(first, "GET /ui/models")).json).toMatchObject({
      spent_today: 0.01002,
      budget: 0.03,
    });
    const long = await callModel(first, { request: { ...request, settings: { maxTokens: 30 } } });
    expect(long.status).toBe(429);
    expect(long.text).toMatch(/daily budget of \$0\.03.*this call may cost \$0\.03/);
    await first.close();
    const second = await start(endpoint.url, options);
    expect((await callModel(second, { request: limited })).status).toBe(200);
    expect((await callModel(second, { request: limited })).status).toBe(429);
    expect(endpoint.calls).toHaveLength(2);
    const list = await call(second, "GET /ui/models");
    expect(Number(list.json["spent_today"])).toBeCloseTo(0.02004, 8);
  });

  test("with a budget, a call at a public endpoint whose price is unknown is refused", async () => {
    const server = await start("https://models.example.com/v1", { modelBudget: 1 });
    const unknown = { ...request, model: `unknown-${randomUUID()}` };
    const refused = await callModel(server, { request: unknown });
    expect(refused.status).toBe(422);
    expect(refused.text).toMatch(/No price is known.*millrace prices set/);
  });

  test("a call that the endpoint refused costs nothing", async () => {
    const endpoint = await startEndpoint((response) => {
      response.writeHead(400);
      response.end();
    });
    const server = await start(endpoint.url, { modelBudget: 1 });
    await call(server, "PUT /ui/prices", {
      body: { prices: [{ model: "gpt-4o-mini", prices: { input: 1, output: 2 } }] },
    });
    await callModel(server);
    expect((await call(server, "GET /ui/models")).json).toMatchObject({ spent_today: 0 });
  });
});

type Run = Readonly<Record<string, unknown>>;

/** The runs of the project `playground`. */
async function runsOf(server: RunningServer): Promise<readonly Run[]> {
  const projects = await call(server, "GET /sessions?name=playground");
  const [project] = projects.json as unknown as readonly { readonly id: string }[];
  if (project === undefined) {
    return [];
  }
  const { json } = await call(server, "POST /runs/query", { body: { session: [project.id] } });
  return json["runs"] as unknown as readonly Run[];
}
