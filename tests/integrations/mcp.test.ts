import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CreateMessageRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { context as otelContext, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { runServer } from "../../server/tests/support/running-server.ts";
import { traceClient, traceServer } from "../../src/integrations/mcp/index.ts";
import { Client, currentRun, RunTree, withRun } from "../../src/main/index.ts";
import { CollectingClient } from "../tracing/collecting-client.ts";

/** A server with a tool, a prompt and a resource. `onEcho` runs in the handler of the tool. */
function createServer(onEcho: () => unknown = () => undefined): McpServer {
  const server = new McpServer({ name: "echoes", version: "1.0.0" });
  server.registerTool("echo", { inputSchema: { text: z.string() } }, async ({ text }) => {
    await Promise.resolve();
    await onEcho();
    return { content: [{ type: "text", text }] };
  });
  server.registerPrompt("greet", { argsSchema: { who: z.string() } }, ({ who }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Hello ${who}` } }],
  }));
  server.registerResource("page", "file:///page", {}, ({ href }) => ({
    contents: [{ uri: href, text: "a page" }],
  }));
  return server;
}

/** Connects the two in one process. `messages` are those that the client sends. */
async function connect(client: McpClient, server: McpServer) {
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  const messages: JSONRPCMessage[] = [];
  const send = clientSide.send.bind(clientSide);
  clientSide.send = (message, options) => {
    messages.push(message);
    // As on a wire: the server gets a copy, and none of the client's context.
    return new Promise((resolve) => {
      setImmediate(() => {
        resolve(send(JSON.parse(JSON.stringify(message)) as JSONRPCMessage, options));
      });
    });
  };
  await server.connect(serverSide);
  await client.connect(clientSide);
  onTestFinished(() => client.close());
  return messages;
}

const newClient = (): McpClient =>
  new McpClient({ name: "asker", version: "1.0.0" }, { capabilities: { sampling: {} } });
const echo = { name: "echo", arguments: { text: "hi" } };

describe("one trace over client and server", () => {
  test("a tool call: the server's run is the child of the client's", async () => {
    const client = new CollectingClient();
    const asker = traceClient(newClient(), { client, tags: ["mcp"] });
    const server = traceServer(
      createServer(() => {
        currentRun()?.startChild({ name: "inner" }).end();
      }),
      { client, metadata: { side: "server" } },
    );
    await connect(asker, server);
    const agent = new RunTree({ client, name: "agent" });
    const result = await withRun(agent, () => asker.callTool(echo));
    expect(result).toEqual({ content: [{ type: "text", text: "hi" }] });
    const call = client.start("echo");
    expect(call).toMatchObject({
      parentRunId: agent.id,
      runType: "tool",
      inputs: { text: "hi" },
      tags: ["mcp"],
      metadata: { mcp_server: "echoes" },
    });
    expect(client.end("echo").outputs).toEqual(result);
    const handled = client.start("tools/call echo");
    expect(handled).toMatchObject({
      parentRunId: call.id,
      traceId: agent.id,
      runType: "chain",
      inputs: { name: "echo", arguments: { text: "hi" } },
      metadata: { side: "server", mcp_client: "asker" },
    });
    expect(client.end("tools/call echo").outputs).toEqual(result);
    expect(client.start("inner").parentRunId).toBe(handled.id);
  });

  test("prompts and resources are recorded too; handshakes and pings are not", async () => {
    const client = new CollectingClient();
    const asker = traceClient(newClient(), { client });
    await connect(asker, traceServer(createServer(), { client }));
    await asker.ping();
    await asker.getPrompt({ name: "greet", arguments: { who: "you" } });
    await asker.readResource({ uri: "file:///page" });
    await asker.listTools();
    const runs = client
      .ends()
      .map(({ name, runType, inputs, error }) => ({ name, runType, inputs, error }));
    expect(runs).toEqual([
      {
        name: "prompts/get greet",
        runType: "chain",
        inputs: { name: "greet", arguments: { who: "you" } },
      },
      { name: "greet", runType: "prompt", inputs: { who: "you" } },
      { name: "resources/read", runType: "chain", inputs: { uri: "file:///page" } },
      { name: "resources/read", runType: "retriever", inputs: { uri: "file:///page" } },
      { name: "tools/list", runType: "chain", inputs: {} },
    ]);
  });

  test("a request of the server to the client continues the trace in the other direction", async () => {
    const client = new CollectingClient();
    const asker = traceClient(newClient(), { client });
    const question = {
      maxTokens: 10,
      messages: [{ role: "user" as const, content: { type: "text" as const, text: "Why?" } }],
    };
    const answer = {
      role: "assistant" as const,
      model: "m",
      content: { type: "text" as const, text: "So." },
    };
    asker.setRequestHandler(CreateMessageRequestSchema, async () => {
      currentRun()?.startChild({ name: "model", runType: "llm" }).end();
      return answer;
    });
    const server: McpServer = traceServer(
      createServer(() => server.server.createMessage(question)),
      { client },
    );
    await connect(asker, server);
    await asker.callTool(echo);
    const handled = client.start("tools/call echo");
    const [asked, sampled] = client
      .starts()
      .filter(({ name }) => name === "sampling/createMessage");
    expect(asked).toMatchObject({ parentRunId: handled.id, runType: "llm", inputs: question });
    expect(sampled).toMatchObject({ parentRunId: asked?.id, runType: "chain" });
    expect(client.start("model")).toMatchObject({ parentRunId: sampled?.id });
    expect(new Set(client.starts().map(({ traceId }) => traceId)).size).toBe(1);
    expect(client.ends().filter(({ error }) => error !== undefined)).toEqual([]);
  });

  test("over stdio, client and server are processes of their own", async () => {
    const { url } = await runServer();
    const client = new Client({ endpoint: url, projectName: "mcp" });
    onTestFinished(async () => void (await client.close()));
    const asker = traceClient(newClient(), { client });
    const args = [new URL("mcp-server.mjs", import.meta.url).pathname];
    const env = { ENDPOINT: url };
    await asker.connect(new StdioClientTransport({ command: process.execPath, args, env }));
    expect(await asker.callTool({ name: "double", arguments: { number: 21 } })).toEqual({
      content: [{ type: "text", text: "42" }],
    });
    await asker.close();
    await client.flush();
    const runs = await client.runs.list({ projectNames: ["mcp"] }).toArray();
    const nameOf = (id: string | undefined): unknown => runs.find((run) => run.id === id)?.name;
    const edges = runs.map(({ name, parentRunId }) => `${name} < ${String(nameOf(parentRunId))}`);
    expect(edges.toSorted()).toEqual([
      "double < tools/call double",
      "double < undefined",
      "tools/call double < double",
    ]);
    expect(new Set(runs.map(({ traceId }) => traceId)).size).toBe(1);
  });
});

describe("requests", () => {
  /** The tool call that the client sent. */
  const findCall = (messages: readonly JSONRPCMessage[]) =>
    messages.find((message) => "method" in message && message.method === "tools/call");

  test("nothing but _meta is changed, and the caller's objects are not", async () => {
    const client = new CollectingClient();
    const asker = traceClient(newClient(), { client });
    const messages = await connect(asker, createServer());
    const baggage = "vendor=1";
    const params = { ...echo, _meta: { progressToken: 7, baggage } };
    const copy = structuredClone(params);
    await asker.callTool(params);
    expect(params).toEqual(copy);
    const { id, traceId } = client.start("echo");
    expect(findCall(messages)).toEqual({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        ...echo,
        _meta: {
          progressToken: 7,
          traceparent: `00-${traceId.replaceAll("-", "")}-${id.replaceAll("-", "").slice(16)}-01`,
          "langsmith-trace": client.start("echo").dottedOrder,
          baggage: `${baggage},langsmith-project=default`,
        },
      },
    });
    expect(messages.filter((message) => message !== findCall(messages))).toEqual([
      expect.objectContaining({
        method: "initialize",
        params: expect.not.objectContaining({ _meta: expect.anything() as unknown }) as unknown,
      }),
      expect.objectContaining({ method: "notifications/initialized" }),
    ]);
  });

  test("tags and metadata are sent to the server only where sendMetadata says so", async () => {
    const options = { client: new CollectingClient(), tags: ["t"], metadata: { user: "u1" } };
    const asker = traceClient(newClient(), options);
    const messages = await connect(asker, createServer());
    await asker.callTool(echo);
    expect(JSON.stringify(findCall(messages))).not.toMatch(/u1|langsmith-tags/);
    const sharing = traceClient(newClient(), { ...options, sendMetadata: true });
    const shared = await connect(sharing, createServer());
    await sharing.callTool(echo);
    expect(JSON.stringify(findCall(shared))).toMatch(/langsmith-metadata=.*u1.*langsmith-tags=t/);
  });

  test("a traceparent of another library is kept", async () => {
    const asker = traceClient(newClient(), { client: new CollectingClient() });
    const messages = await connect(asker, createServer());
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    await asker.callTool({ ...echo, _meta: { traceparent } });
    expect(findCall(messages)).toMatchObject({ params: { _meta: { traceparent } } });
  });

  test("without a client to record, requests stay as they are", async () => {
    const asker = traceClient(newClient());
    const messages = await connect(asker, traceServer(createServer()));
    await asker.callTool(echo);
    expect(findCall(messages)).toMatchObject({ params: echo });
    expect(JSON.stringify(messages)).not.toContain("_meta");
  });

  test("wrapping twice, also while connected, is wrapping once", async () => {
    const client = new CollectingClient();
    const [asker, server] = [newClient(), createServer()];
    expect(traceClient(traceClient(asker, { client }), { client })).toBe(asker);
    traceServer(traceServer(server, { client }).server, { client });
    await connect(asker, server);
    traceClient(asker, { client });
    traceServer(server, { client });
    await asker.callTool(echo);
    expect(client.starts().map(({ name }) => name)).toEqual(["echo", "tools/call echo"]);
  });

  test("a client and a server that are already connected are recorded", async () => {
    const client = new CollectingClient();
    const [asker, server] = [newClient(), createServer()];
    await connect(asker, server);
    traceClient(asker, { client });
    traceServer(server, { client });
    await asker.callTool(echo);
    const call = client.end("echo");
    expect(client.end("tools/call echo").parentRunId).toBe(call.id);
  });

  test("a transport that is connected again yields one run for each request", async () => {
    const client = new CollectingClient();
    const server = traceServer(createServer(), { client });
    const transport: Transport = {
      start: async () => {},
      send: async () => {},
      close: async () => transport.onclose?.(),
    };
    await server.connect(transport);
    await server.close();
    await server.connect(transport);
    transport.onmessage?.({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    await vi.waitFor(() => expect(client.ends()).toHaveLength(1));
    expect(client.starts()).toHaveLength(1);
    expect(client.end("tools/list").error).toBeUndefined();
  });

  test.each(["", "00-zz", `00-${"0".repeat(32)}-${"1".repeat(16)}-01`, "x".repeat(100_000)])(
    "a malformed traceparent starts a new trace (%#)",
    async (traceparent) => {
      const client = new CollectingClient();
      const asker = newClient();
      await connect(asker, traceServer(createServer(), { client }));
      await asker.callTool({
        ...echo,
        _meta: { traceparent, "langsmith-trace": "bad", baggage: 7 },
      });
      expect(client.end("tools/call echo").parentRunId).toBeUndefined();
    },
  );
});

describe("failures", () => {
  test("a server that rejects, a tool that fails, and an unknown method end their runs as failed", async () => {
    const client = new CollectingClient();
    const asker = traceClient(newClient(), { client });
    const server = traceServer(
      createServer(() => Promise.reject(new Error("broken"))),
      { client },
    );
    await connect(asker, server);
    await expect(asker.readResource({ uri: "file:///none" })).rejects.toThrow("not found");
    const result = await asker.callTool(echo);
    expect(result).toMatchObject({ isError: true });
    await expect(asker.setLoggingLevel("info")).rejects.toThrow("Method not found");
    expect(client.ends().map(({ name, runType, error }) => [name, runType, error])).toEqual([
      [
        "resources/read",
        "chain",
        "MCP error -32602: MCP error -32602: Resource file:///none not found",
      ],
      [
        "resources/read",
        "retriever",
        "MCP error -32602: MCP error -32602: Resource file:///none not found",
      ],
      ["tools/call echo", "chain", "broken"],
      ["echo", "tool", "broken"],
      ["logging/setLevel", "chain", "MCP error -32601: Method not found"],
    ]);
    expect(client.end("echo").outputs).toEqual(result);
    expect(client.starts()).toHaveLength(5);
  });

  /** A client and a server whose tool never responds. */
  async function connectSilent(client: CollectingClient) {
    const asker = traceClient(newClient(), { client });
    await connect(
      asker,
      traceServer(
        createServer(() => new Promise(() => {})),
        { client },
      ),
    );
    return asker;
  }

  const errors = (client: CollectingClient) =>
    client
      .ends()
      .map(({ name, error }) => `${name}: ${error}`)
      .toSorted();

  test("a request that is cancelled ends its run on both sides", async () => {
    const client = new CollectingClient();
    const asker = await connectSilent(client);
    const controller = new AbortController();
    const call = asker.callTool(echo, undefined, { signal: controller.signal });
    await vi.waitFor(() => expect(client.starts()).toHaveLength(2));
    controller.abort("enough");
    await expect(call).rejects.toThrow("enough");
    await vi.waitFor(() => expect(client.ends()).toHaveLength(2));
    expect(errors(client)).toEqual([
      "echo: The request was cancelled: enough",
      "tools/call echo: The request was cancelled: enough",
    ]);
  });

  test("a request that times out ends its run on both sides", async () => {
    const client = new CollectingClient();
    const asker = await connectSilent(client);
    await expect(asker.callTool(echo, undefined, { timeout: 50 })).rejects.toThrow("timed out");
    await vi.waitFor(() => expect(client.ends()).toHaveLength(2));
    expect(client.end("echo").error).toContain("Request timed out");
  });

  test("a connection that closes ends the runs on both sides", async () => {
    const client = new CollectingClient();
    const asker = await connectSilent(client);
    const call = asker.callTool(echo);
    await vi.waitFor(() => expect(client.starts()).toHaveLength(2));
    await asker.close();
    await expect(call).rejects.toThrow("Connection closed");
    expect(errors(client)).toEqual([
      "echo: The connection was closed before the response",
      "tools/call echo: The connection was closed before the response",
    ]);
  });

  test("a request that can't be sent ends its run", async () => {
    const client = new CollectingClient();
    const asker = newClient();
    await connect(asker, createServer());
    asker.transport!.send = () => Promise.reject(new Error("no such connection"));
    traceClient(asker, { client });
    await expect(asker.callTool(echo)).rejects.toThrow("no such connection");
    expect(client.end("echo").error).toContain("no such connection");
  });
});

describe("with OpenTelemetry as the peer", () => {
  /** A tracer whose spans the local server stores. */
  function startTracer(url: string) {
    const exporter = new OTLPTraceExporter({ url: `${url}/otel/v1/traces` });
    const provider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    onTestFinished(() => provider.shutdown());
    return { tracer: provider.getTracer("peer"), flush: () => provider.forceFlush() };
  }

  test("a server's spans are in the trace of the Millrace client that calls it", async () => {
    const { url } = await runServer();
    const client = new Client({ endpoint: url });
    onTestFinished(async () => void (await client.close()));
    const { tracer, flush } = startTracer(url);
    const asker = traceClient(newClient(), { client });
    const messages = await connect(asker, createServer());
    await asker.callTool(echo);
    // What OpenTelemetry's instrumentation of a server does with `traceparent`.
    const call = JSON.stringify(messages);
    const [, traceId = "", spanId = ""] =
      /"traceparent":"00-(\w{32})-(\w{16})-01"/.exec(call) ?? [];
    const parent = trace.setSpanContext(otelContext.active(), {
      traceId,
      spanId,
      traceFlags: 1,
      isRemote: true,
    });
    await client.flush();
    tracer.startSpan("tools/call echo", {}, parent).end();
    await flush();
    const runs = await client.runs.list({ projectNames: ["default"] }).toArray();
    const tool = runs.find(({ name }) => name === "echo");
    expect(runs.find(({ name }) => name === "tools/call echo")).toMatchObject({
      traceId: tool?.traceId,
      parentRunId: tool?.id,
    });
  });

  test("a Millrace server's run is in the trace of the client's span, and below it", async () => {
    const { url } = await runServer();
    const client = new Client({ endpoint: url });
    onTestFinished(async () => void (await client.close()));
    const { tracer, flush } = startTracer(url);
    const asker = newClient();
    await connect(asker, traceServer(createServer(), { client }));
    const root = tracer.startSpan("agent");
    const span = tracer.startSpan("echo", {}, trace.setSpan(otelContext.active(), root));
    const { traceId, spanId } = span.spanContext();
    await asker.callTool({ ...echo, _meta: { traceparent: `00-${traceId}-${spanId}-01` } });
    span.end();
    root.end();
    await Promise.all([flush(), client.flush()]);
    const runs = await client.runs.list({ projectNames: ["default"] }).toArray();
    expect(new Set(runs.map((run) => run.traceId)).size).toBe(1);
    const caller = runs.find(({ name }) => name === "echo");
    expect(runs.find(({ name }) => name === "tools/call echo")?.parentRunId).toBe(caller?.id);
  });
});
