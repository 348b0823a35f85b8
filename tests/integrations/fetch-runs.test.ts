import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";
import { tracedFetch } from "../../src/integrations/fetch/index.ts";
import { Client, withRun } from "../../src/main/index.ts";
import type { ClientOptions, Run } from "../../src/main/index.ts";
import { runProgram } from "../support/run-program.ts";

const clients: Client[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close({ timeoutMs: 0 })));
});

async function startClient(options: ClientOptions = {}): Promise<Client> {
  const { url } = await runServer();
  const client = new Client({ endpoint: url, logger: { warn: () => undefined }, ...options });
  clients.push(client);
  return client;
}

async function startApi(listener: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => listener(request, response));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The stored runs of the client's project. */
async function storedRuns(client: Client): Promise<readonly Run[]> {
  await client.flush();
  const runs: Run[] = [];
  for await (const run of client.runs.list({ projectNames: ["default"] })) {
    runs.push(run);
  }
  return runs;
}

async function onlyRun(client: Client): Promise<Run> {
  const runs = await storedRuns(client);
  expect(runs).toHaveLength(1);
  return runs[0]!;
}

const path = "/v1/chat/completions";
const init = { method: "POST", body: JSON.stringify({ model: "m", messages: [] }) };
const chunk = (text: string): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m-1", choices: [{ index: 0, delta: { content: text } }] })}\n\n`;

describe("what went wrong", () => {
  test.each([
    ["a page with status 200", 200, "text/html", "<html>Welcome to the proxy</html>", "success"],
    [
      "an error with status 500",
      500,
      "application/json",
      '{"error":{"message":"overloaded"}}',
      "error",
    ],
    ["JSON that ends in the middle", 200, "application/json", '{"choices":[{"mess', "success"],
    ["a stream of something else", 200, "text/event-stream", "data: nonsense\n\n\0\0", "success"],
  ])("%s reaches the caller unchanged, and the run says it", async (_, status, type, body) => {
    const api = await startApi((_request, response) => {
      response.writeHead(status, { "content-type": type });
      response.end(body);
    });
    const client = await startClient();
    const response = await tracedFetch(undefined, { client })(api + path, init);
    expect(response.status).toBe(status);
    await expect(response.text()).resolves.toBe(body);
    const run = await onlyRun(client);
    expect(run.endTime).toBeDefined();
    const warnings = run.extra?.metadata?.["millrace_exchange_warnings"];
    expect(run.error ?? warnings).toBeTruthy();
    expect(run.status === "error").toBe(run.error !== null && run.error !== undefined);
    expect(run.events).toMatchObject(
      [{ name: "attempt", kwargs: { status } }, {}].slice(0, type.includes("event") ? 2 : 1),
    );
  });

  test(
    "a stream of 100 MB reaches the caller whole, in bounded memory",
    { timeout: 60_000 },
    async () => {
      const part = Buffer.alloc(1_000_000, "data: {}\n\n");
      const api = await startApi((_request, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        let sent = 0;
        const send = (): void => {
          while (sent < 100) {
            sent += 1;
            if (!response.write(part)) {
              response.once("drain", send);
              return;
            }
          }
          response.end();
        };
        send();
      });
      const client = await startClient({ maxFieldBytes: 1_048_576 });
      const response = await tracedFetch(undefined, { client })(api + path, init);
      const before = process.memoryUsage().arrayBuffers;
      let received = 0;
      let most = 0;
      for await (const bytes of response.body!) {
        received += (bytes as Uint8Array).length;
        most = Math.max(most, process.memoryUsage().arrayBuffers);
      }
      expect(received).toBe(100_000_000);
      // Well below the 100 MB that a kept stream would take. The server of this test is in the same process, and a busy
      // machine collects its buffers late.
      expect(most - before).toBeLessThan(80_000_000);
      const run = await onlyRun(client);
      expect(JSON.stringify(run.extra)).toContain(
        "98951424 bytes in the middle of the response were left out",
      );
    },
  );
});

describe("a response that is not read", () => {
  test("ends its run at a flush", async () => {
    const api = await startApi((_request, response) => response.end("{}"));
    const client = await startClient();
    const response = await tracedFetch(undefined, { client })(api + path, init);
    const run = await onlyRun(client);
    expect(run).toMatchObject({ status: "success" });
    expect(JSON.stringify(run.extra)).toContain("The response was not read");
    await expect(response.text()).resolves.toBe("{}");
    const readRun = await onlyRun(client);
    expect(JSON.stringify(readRun.extra)).not.toContain("The response was not read");
  });

  test("ends its run when it is garbage collected, also in the middle", async () => {
    const { url } = await runServer();
    const fetchEntry = new URL("../../dist/integrations/fetch/index.js", import.meta.url).href;
    const { output, code } = await runProgram(
      `import { createServer } from "node:http";
       import { tracedFetch } from ${JSON.stringify(fetchEntry)};
       const server = createServer((_, response) => { response.write("first"); });
       await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
       const address = "http://127.0.0.1:" + server.address().port + ${JSON.stringify(path)};
       const client = new Client({ endpoint: ${JSON.stringify(url)} });
       const fetch = tracedFetch(undefined, { client });
       const open = async (isRead) => {
         const response = await fetch(address, { method: "POST", body: "{}" });
         if (isRead) { await response.body.getReader().read(); }
       };
       await open(false);
       await open(true);
       const ends = () => client.stats().accepted - 2;
       for (let i = 0; i < 200 && ends() < 2; i++) {
         globalThis.gc();
         await new Promise((resolve) => setTimeout(resolve, 10));
       }
       console.log(ends());
       await client.close();
       server.closeAllConnections();
       server.close();`,
      { nodeArguments: ["--expose-gc"] },
    );
    expect({ output: output.trim(), code }).toEqual({ output: "2", code: 0 });
  });
});

describe("the client of OpenAI", () => {
  test("streams; leaving the stream early and a retry are one run each", async () => {
    const statuses = [503, 200, 200];
    const api = await startApi((_request, response) => {
      const status = statuses.shift() ?? 200;
      response.writeHead(status, { "content-type": "text/event-stream", "retry-after-ms": "1" });
      response.write(status === 200 ? chunk("Hel") + chunk("lo") : "overloaded");
      response.end(status === 200 ? "data: [DONE]\n\n" : "");
    });
    const client = await startClient();
    const openai = new OpenAI({
      baseURL: `${api}/v1`,
      apiKey: "secret-key-of-a-test",
      fetch: tracedFetch(undefined, { client }),
    });
    const parent = client.startRun({ name: "parent" });
    const ask = async (limit: number): Promise<string> => {
      let text = "";
      let count = 0;
      const stream = await openai.chat.completions.create({
        model: "m",
        messages: [{ role: "user", content: "hi" }],
        stream: true,
      });
      for await (const { choices } of stream) {
        text += choices[0]?.delta.content ?? "";
        count += 1;
        if (count === limit) {
          break;
        }
      }
      return text;
    };
    await expect(withRun(parent, () => ask(9))).resolves.toBe("Hello");
    await expect(withRun(parent, () => ask(1))).resolves.toBe("Hel");
    parent.end();
    const runs = (await storedRuns(client)).filter(({ parentRunId }) => parentRunId === parent.id);
    const byAttempts = runs.toSorted((a, b) => (b.events?.length ?? 0) - (a.events?.length ?? 0));
    expect(byAttempts).toHaveLength(2);
    const [retried, left] = byAttempts;
    expect(retried?.status).toBe("success");
    expect(retried?.events).toMatchObject([
      { name: "attempt", kwargs: { attempt: 1, status: 503 } },
      { name: "attempt", kwargs: { attempt: 2, status: 200 } },
      { name: "new_token" },
    ]);
    expect(retried?.extra?.metadata).not.toHaveProperty("millrace_cancelled");
    expect(JSON.stringify(left?.outputs)).toContain("Hel");
    expect(JSON.stringify(runs)).not.toContain("secret-key-of-a-test");
  });
});

test("a call of Anthropic's client is a run, with the id of its request", async () => {
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-1",
    content: [{ type: "text", text: "Hello" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 2 },
  };
  const api = await startApi((_request, response) => {
    response.writeHead(200, { "content-type": "application/json", "request-id": "req_3" });
    response.end(JSON.stringify(message));
  });
  const client = await startClient();
  const anthropic = new Anthropic({
    baseURL: api,
    apiKey: "secret-key-of-a-test",
    fetch: tracedFetch(undefined, { client }),
  });
  const pending = anthropic.messages.create({
    model: "claude-1",
    max_tokens: 9,
    messages: [{ role: "user", content: "hi" }],
  });
  await expect(pending).resolves.toMatchObject(message);
  const run = await vi.waitFor(() => onlyRun(client));
  expect(run).toMatchObject({ status: "success", runType: "llm" });
  expect(run.events).toMatchObject([{ kwargs: { status: 200, request_id: "req_3" } }]);
  expect(JSON.stringify(run.outputs)).toContain("Hello");
});
