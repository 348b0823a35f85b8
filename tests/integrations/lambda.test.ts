import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";
import { traceHandler } from "../../src/integrations/lambda/index.ts";
import { Client, currentRun, RunTree } from "../../src/main/index.ts";
import { CollectingClient } from "../tracing/collecting-client.ts";

const context = {
  functionName: "ask",
  awsRequestId: "r-1",
  getRemainingTimeInMillis: () => 10_000,
};

type Callback = (error: unknown, response?: unknown) => void;

describe("handlers keep their form", () => {
  test("a promise: one run for each invocation, below which the handler's runs are", async () => {
    const client = new CollectingClient();
    const handler = traceHandler(
      async ({ question }: { readonly question: string }, _context: typeof context) => {
        await Promise.resolve();
        currentRun()?.startChild({ name: "look up" }).end();
        return { answer: `${question}!` };
      },
      { client, tags: ["aws"], metadata: { stage: "test" } },
    );
    expect(await handler({ question: "Why" }, context)).toEqual({ answer: "Why!" });
    expect(await handler({ question: "How" }, context)).toEqual({ answer: "How!" });
    const runs = client.ends().filter(({ name }) => name === "ask");
    expect(runs.map(({ outputs }) => outputs)).toEqual([{ answer: "Why!" }, { answer: "How!" }]);
    const [first] = client.starts();
    expect(first).toMatchObject({
      name: "ask",
      inputs: { question: "Why" },
      tags: ["aws"],
      metadata: { stage: "test", awsRequestId: "r-1" },
    });
    expect(client.starts()[1]).toMatchObject({ name: "look up", parentRunId: first?.id });
  });

  test("an error reaches the runtime unchanged and fails the run", async () => {
    const client = new CollectingClient();
    const thrown = new TypeError("no question");
    const failures: ((event: object, given: typeof context) => unknown)[] = [
      () => Promise.reject(thrown),
      () => {
        throw thrown;
      },
    ];
    for (const fail of failures) {
      await expect(traceHandler(fail, { client })({}, context)).rejects.toBe(thrown);
    }
    expect(client.ends().map(({ error }) => error?.split("\n")[0])).toEqual([
      "TypeError: no question",
      "TypeError: no question",
    ]);
  });

  test("a callback: the handler's answer reaches the runtime's callback once", async () => {
    const client = new CollectingClient();
    const handler = traceHandler(
      (event: unknown, _context: typeof context, callback: Callback) => {
        setImmediate(() => {
          callback(event === "bad" ? "refused" : null, { answer: event });
          callback(null, "again");
        });
      },
      { client },
    );
    expect(handler.length).toBe(3);
    const callback = vi.fn<Callback>();
    expect(handler("good", context, callback)).toBeUndefined();
    await vi.waitFor(() => expect(callback).toHaveBeenCalledTimes(1));
    expect(handler("bad", context, callback)).toBeUndefined();
    await vi.waitFor(() => expect(callback).toHaveBeenCalledTimes(2));
    expect(callback.mock.calls).toEqual([[null, { answer: "good" }], ["refused"]]);
    expect(client.ends().map(({ outputs, error }) => [outputs, error])).toEqual([
      [{ answer: "good" }, undefined],
      [undefined, "refused"],
    ]);
  });

  test("an asynchronous handler that calls the callback answers with what came first", async () => {
    const handler = traceHandler(
      async (_event: object, _context: typeof context, callback: Callback) => {
        await Promise.resolve();
        callback(null, "by callback");
      },
      { client: new CollectingClient() },
    );
    const callback = vi.fn<Callback>();
    await expect(handler({}, context, callback)).resolves.toBe("by callback");
  });

  test("a response stream: the run ends when the stream has ended", async () => {
    const client = new CollectingClient();
    const chunks: string[] = [];
    const stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        chunks.push(String(chunk));
        done();
      },
    });
    const streaming = Symbol.for("aws.lambda.runtime.handler.streaming");
    const handler = traceHandler(
      Object.assign(
        async (_event: object, response: Writable, _context: typeof context) => {
          response.write("first ");
          setImmediate(() => {
            expect(client.ends()).toEqual([]);
            response.end("last");
          });
        },
        { [streaming]: "response" },
      ),
      { client },
    );
    expect(handler[streaming]).toBe("response");
    await handler({}, stream, context);
    expect(chunks).toEqual(["first ", "last"]);
    expect(client.end("ask").error).toBeUndefined();
  });

  test("wrapping twice is wrapping once", async () => {
    const client = new CollectingClient();
    const handler = traceHandler(async (_event: object, _context: typeof context) => "ok", {
      client,
    });
    expect(traceHandler(handler, { client })).toBe(handler);
    await handler({}, context);
    expect(client.starts()).toHaveLength(1);
  });
});

describe("events", () => {
  const httpApi = {
    version: "2.0",
    routeKey: "GET /users/{id}",
    rawPath: "/users/7",
    rawQueryString: "token=secret",
    requestContext: { http: { method: "GET", path: "/users/7" } },
  };
  const restApi = {
    httpMethod: "GET",
    path: "/users/7",
    resource: "/users/{id}",
    queryStringParameters: { token: "secret" },
    body: "secret",
  };
  const functionUrl = { ...httpApi, routeKey: "$default" };
  const loadBalancer = { ...restApi, resource: undefined, headers: null };

  test.each([
    ["HTTP API", httpApi, "/users/{id}"],
    ["REST API", restApi, "/users/{id}"],
    ["function URL", functionUrl, undefined],
    ["load balancer", loadBalancer, undefined],
  ])("%s: method, path and status are recorded, and no secret", async (_name, event, route) => {
    const client = new CollectingClient();
    const headers = { authorization: "secret" };
    const handler = traceHandler(
      async (_event: object, _context: typeof context) => ({ statusCode: 201, body: "secret" }),
      { client },
    );
    await handler({ headers, ...event }, context);
    expect(client.start("GET /users/7").inputs).toEqual({ method: "GET", path: "/users/7" });
    expect(client.end("GET /users/7").outputs).toEqual({ status: 201, route });
    expect(JSON.stringify(client.records)).not.toContain("secret");
  });

  test("WebSocket messages and tokens of authorizers are not recorded", async () => {
    const client = new CollectingClient();
    const handler = traceHandler(async (_event: object, _context: typeof context) => ({}), {
      client,
    });
    const requestContext = { routeKey: "$connect", eventType: "CONNECT" };
    await handler(
      { requestContext, headers: { authorization: "secret" }, body: "secret" },
      context,
    );
    await handler({ type: "TOKEN", authorizationToken: "secret", methodArn: "arn" }, context);
    expect(client.start("CONNECT $connect").inputs).toEqual({
      method: "CONNECT",
      path: "$connect",
    });
    expect(client.start("ask").inputs).toEqual({ type: "TOKEN", methodArn: "arn" });
    expect(JSON.stringify(client.records)).not.toContain("secret");
  });

  test("the run is a child of the run that the headers name", async () => {
    const client = new CollectingClient();
    const caller = new RunTree({ client, name: "caller" });
    const headers = caller.toHeaders();
    const rename = (
      toEntry: (name: string, value: string) => readonly [string, unknown],
    ): unknown =>
      Object.fromEntries(Object.entries(headers).map(([name, value]) => toEntry(name, value)));
    const handler = traceHandler(async (_event: object, _context: typeof context) => "ok", {
      client,
    });
    await handler({ ...httpApi, headers }, context);
    const capitalized = rename((name, value) => [name.toUpperCase(), value]);
    await handler({ ...restApi, headers: capitalized }, context);
    const multiValueHeaders = rename((name, value) => [name, [value]]);
    await handler({ ...loadBalancer, multiValueHeaders }, context);
    const parents = client
      .starts()
      .filter(({ name }) => name !== "caller")
      .map(({ parentRunId }) => parentRunId);
    expect(parents).toEqual([caller.id, caller.id, caller.id]);
  });

  test("a status of 500 fails the run, and a response without one has status 200", async () => {
    const client = new CollectingClient();
    const responses = [{ statusCode: 503 }, "a text"];
    const handler = traceHandler(
      async (_event: object, _context: typeof context) => responses.shift(),
      { client },
    );
    await handler(httpApi, context);
    await handler(httpApi, context);
    expect(client.ends().map(({ error, outputs }) => [error, outputs])).toEqual([
      ["The response has status 503", { status: 503, route: "/users/{id}" }],
      [undefined, { status: 200, route: "/users/{id}" }],
    ]);
  });

  test("processInputs and processOutputs decide what of other events is recorded", async () => {
    const client = new CollectingClient();
    const handler = traceHandler(
      async (_event: object, _context: typeof context) => ({ answer: "secret" }),
      {
        client,
        processInputs: ({ question }) => ({ question }),
        processOutputs: () => {
          throw new Error("broken");
        },
      },
    );
    await handler({ question: "Why?", password: "secret" }, context);
    expect(client.end("ask")).toMatchObject({
      inputs: { question: "Why?" },
      outputs: { millrace_error: "processOutputs failed; outputs dropped" },
    });
  });
});

/** Starts a Lambda environment. `invoke` resolves to the response once the process was stopped or killed. */
function startRuntime(form: string, signal: "SIGSTOP" | "SIGKILL", endpoint: string) {
  const program = new URL("lambda-runtime.mjs", import.meta.url);
  const child = spawn(process.execPath, [program.pathname], {
    env: { PATH: process.env["PATH"], FORM: form, SIGNAL: signal, ENDPOINT: endpoint },
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout });
  const invoke = async (event: object): Promise<unknown> => {
    child.kill("SIGCONT");
    child.stdin.write(`${JSON.stringify(event)}\n`);
    const [line] = (await once(lines, "line")) as [string];
    return JSON.parse(line) as unknown;
  };
  return { invoke };
}

describe("delivery", () => {
  async function readRuns(endpoint: string) {
    const reader = new Client({ endpoint, enabled: false });
    onTestFinished(async () => void (await reader.close()));
    const runs = await reader.runs.list({ projectNames: ["lambda"] }).toArray();
    return runs.map(({ name, endTime }) => `${name} ${endTime === undefined ? "open" : "ended"}`);
  }

  test.each(["promise", "callback", "error"])(
    "%s: all runs are on the server when the process is frozen right after each response",
    async (form) => {
      const { url } = await runServer();
      const { invoke } = startRuntime(form, "SIGSTOP", url);
      const expected: string[] = [];
      for (const question of ["Why", "How", "Who"]) {
        const answer =
          form === "error" ? { error: `TypeError: ${question}!` } : { answer: `${question}!` };
        expect(await invoke({ question })).toEqual(answer);
        expected.push("ask ended", "ask ended");
        expect(await readRuns(url)).toEqual(expected);
      }
    },
  );

  test("all runs are on the server when the process is killed right after the response", async () => {
    const { url } = await runServer();
    expect(await startRuntime("promise", "SIGKILL", url).invoke({ question: "Why" })).toEqual({
      answer: "Why!",
    });
    expect(await readRuns(url)).toEqual(["ask ended", "ask ended"]);
  });

  test("an invocation that runs out of time is on the server as a run that did not end", async () => {
    const { url } = await runServer();
    const client = new Client({ endpoint: url, projectName: "lambda" });
    onTestFinished(async () => void (await client.close()));
    const endsAt = performance.now() + 1_000;
    const handler = traceHandler(
      async (_event: object, _context: typeof context) => {
        await delay(5_000, undefined, { ref: false });
      },
      { client },
    );
    void handler({}, { ...context, getRemainingTimeInMillis: () => endsAt - performance.now() });
    await vi.waitFor(async () => expect(await readRuns(url)).toEqual(["ask open"]), 10_000);
  });

  test("the wait for a server that does not answer ends before the invocation, and by flushTimeoutMs", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const client = new Client({ endpoint: `http://127.0.0.1:${port}`, logLevel: "silent" });
    onTestFinished(async () => {
      server.close();
      await client.close({ timeoutMs: 1 });
    });
    const invoke = async (remainingMs: number, flushTimeoutMs?: number): Promise<number> => {
      const began = performance.now();
      const handler = traceHandler(async (_event: object, _context: typeof context) => "ok", {
        client,
        flushTimeoutMs,
      });
      const getRemainingTimeInMillis = (): number => remainingMs - (performance.now() - began);
      expect(await handler({}, { ...context, getRemainingTimeInMillis })).toBe("ok");
      return performance.now() - began;
    };
    expect(await invoke(400)).toBeLessThan(400);
    expect(await invoke(60_000, 300)).toBeLessThan(2_000);
    expect(await invoke(50)).toBeLessThan(1_000);
  });

  test("a flushTimeoutMs that is no time throws when the handler is wrapped", () => {
    expect(() => traceHandler(async () => "ok", { flushTimeoutMs: -1 })).toThrow(
      "traceHandler: flushTimeoutMs must be a number of milliseconds, 0 or greater, but is -1",
    );
  });
});
