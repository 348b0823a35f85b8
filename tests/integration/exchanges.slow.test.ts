import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";
import { Client, recordExchange, setDefaultClient, withRun } from "../../src/main/index.ts";
import { inspectSpool, replaySpool } from "../../src/main/spool-tools.ts";
import { loopbackServer } from "../support/loopback-server.ts";
import { runProgram } from "../support/run-program.ts";
import type { ClientOptions, ExchangeOptions, ExchangeRun, Run } from "../../src/main/index.ts";

const clients: Client[] = [];
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-exchanges-"));
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close({ timeoutMs: 0 })));
  rmSync(folder, { recursive: true, force: true });
});

/** The content of all files in the folder. */
const filesText = (): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name), "latin1"))
    .join("");

const unreachable = "http://127.0.0.1:9";
const mail = "ada.lovelace@example.org";

/** A client that sends from a worker, unless `workers` is 0: the first flush is sent by the main thread. */
async function clientTo(endpoint: string, options: ClientOptions = {}): Promise<Client> {
  const client = new Client({ endpoint, logger: { warn: () => undefined }, ...options });
  clients.push(client);
  await client.flush();
  // The client imports this too, if its options need it.
  await import("../../src/workers/exchange/read-exchanges.ts");
  await nextTurn();
  return client;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** An exchange of a format that no reader knows: its bodies are recorded as text. */
const unknownFormat = "test.unknown" as "openai.chat";

/** Options for {@link recordCall}. */
interface CallDetails {
  readonly request?: string;
  readonly status?: number;
  readonly options?: Partial<ExchangeOptions>;
}

/** Records a call that gets a response with this text. */
function recordCall(
  client: Client,
  response: string,
  { request = "the request", status = 200, options }: CallDetails = {},
): ExchangeRun {
  const exchange = client.recordExchange({
    format: unknownFormat,
    name: "call",
    request,
    ...options,
  });
  exchange.respond({ status, contentType: "text/plain" });
  exchange.addChunk(bytes(response));
  exchange.end();
  return exchange;
}

const readStored = async (client: Client, exchange: ExchangeRun): Promise<Run> => {
  await client.flush();
  return client.runs.read(exchange.run.id);
};

test.each([0, 1])(
  "an exchange is a run whose payloads a worker reads from the bytes, with %i workers",
  async (workers) => {
    const { url } = await runServer();
    const client = await clientTo(url, { workers });
    const parent = client.startRun({ name: "parent" });
    const exchange = client.recordExchange({
      format: unknownFormat,
      name: "call",
      request: "the request",
      metadata: { own: 1 },
      parent,
    });
    exchange.respond({ status: 200 });
    const chunk = bytes("first, ");
    exchange.addChunk(chunk);
    chunk.fill(0);
    exchange.addChunk(bytes("second"));
    exchange.end();
    parent.end();
    const run = await readStored(client, exchange);
    expect(run).toMatchObject({
      name: "call",
      runType: "llm",
      parentRunId: parent.id,
      inputs: { body: "the request" },
      outputs: { body: "first, second" },
      status: "success",
    });
    expect(run.extra?.metadata).toMatchObject({
      own: 1,
      millrace_exchange_warnings: ['The format "test.unknown" is not known'],
    });
    expect(run.events).toMatchObject([{ name: "attempt", kwargs: { attempt: 1, status: 200 } }]);
    expect(client.stats()).toMatchObject({ accepted: 4, delivered: 4 });
  },
);

test("a start and an end that are delivered apart make the same run", async () => {
  const { url } = await runServer();
  const client = await clientTo(url);
  const exchange = client.recordExchange({ format: unknownFormat, request: "the request" });
  await client.flush();
  await expect(client.runs.read(exchange.run.id)).resolves.toMatchObject({
    name: "test.unknown",
    status: "pending",
    inputs: { body: "the request" },
  });
  exchange.respond({ status: 503 });
  exchange.addChunk(bytes("overloaded"));
  exchange.end();
  await expect(readStored(client, exchange)).resolves.toMatchObject({
    inputs: { body: "the request" },
    outputs: { body: "overloaded" },
    error: "The response has status 503",
    status: "error",
  });
});

test.each(["before", "after"])(
  "a request that becomes known %s the end is recorded as the run's inputs",
  async (moment) => {
    const { url } = await runServer();
    const client = await clientTo(url);
    const exchange = client.recordExchange({
      format: unknownFormat,
      name: "call",
      metadata: { own: 1 },
    });
    const request = bytes("the request");
    const add = (): void => {
      exchange.addRequest(request);
      request.fill(0);
    };
    if (moment === "before") {
      add();
    }
    await client.flush();
    exchange.respond({ status: 200 });
    exchange.addChunk(bytes("the response"));
    exchange.end();
    if (moment === "after") {
      await client.flush();
      add();
    }
    const run = await readStored(client, exchange);
    expect(run).toMatchObject({
      name: "call",
      inputs: { body: "the request" },
      outputs: { body: "the response" },
      status: "success",
    });
    expect(run.extra?.metadata).toMatchObject({ own: 1 });
  },
);

test("exchanges, ordinary runs and attachments of one tape are delivered together", async () => {
  const { url } = await runServer();
  const client = await clientTo(url);
  const before = client.startRun({ name: "before", inputs: { n: 1 } });
  const exchange = recordCall(client, "the response");
  before.end({ n: 2 }, { attachments: { note: ["text/plain", "attached"] } });
  await expect(readStored(client, exchange)).resolves.toMatchObject({
    outputs: { body: "the response" },
  });
  await expect(client.runs.read(before.id)).resolves.toMatchObject({
    inputs: { n: 1 },
    outputs: { n: 2 },
  });
  expect(client.stats()).toMatchObject({ delivered: 4, truncated: 0 });
});

test("without options a call belongs to the current run and its client, else to the default client", async () => {
  const { url } = await runServer();
  const client = await clientTo(url);
  const other = await clientTo(url, { projectName: "other" });
  setDefaultClient(other);
  try {
    const parent = client.startRun({ name: "parent" });
    const inside = withRun(parent, () => recordExchange({ format: unknownFormat }));
    const outside = recordExchange({ format: unknownFormat });
    expect(inside.run).toMatchObject({ parentRunId: parent.id, client });
    expect(outside.run).toMatchObject({ parentRunId: undefined, client: other });
  } finally {
    setDefaultClient(undefined);
  }
});

describe("attempts", () => {
  test("the last one decides outputs, error and end; each is an event", async () => {
    const { url } = await runServer();
    const client = await clientTo(url);
    const exchange = recordCall(client, "try later", { status: 503 });
    await expect(readStored(client, exchange)).resolves.toMatchObject({
      status: "error",
      error: "The response has status 503",
    });
    exchange.beginAttempt();
    exchange.end({ error: new TypeError("fetch failed") });
    expect((await readStored(client, exchange)).error).toContain("TypeError: fetch failed");
    exchange.beginAttempt();
    exchange.respond({ status: 200, contentType: "text/plain", requestId: "req_9" });
    exchange.addChunk(bytes("done"));
    exchange.end();
    const run = await readStored(client, exchange);
    expect(run).toMatchObject({ status: "success", outputs: { body: "done" } });
    expect(run.error ?? null).toBeNull();
    expect(run.inputs).toEqual({ body: "the request" });
    expect(run.events).toMatchObject([
      { name: "attempt", kwargs: { attempt: 1, status: 503 } },
      { name: "attempt", kwargs: { attempt: 2, error: "TypeError: fetch failed" } },
      { name: "attempt", kwargs: { attempt: 3, status: 200, request_id: "req_9" } },
    ]);
  });

  test("that are delivered together make the same run", async () => {
    const { url } = await runServer();
    const client = await clientTo(url);
    const exchange = recordCall(client, "try later", { status: 503 });
    exchange.beginAttempt();
    exchange.respond({ status: 200 });
    exchange.addChunk(bytes("done"));
    exchange.end();
    const run = await readStored(client, exchange);
    expect(run).toMatchObject({ status: "success", outputs: { body: "done" } });
    expect(run.error ?? null).toBeNull();
    expect(run.events).toHaveLength(2);
  });
});

describe("a response", () => {
  test("that nothing reads ends its run at a flush, and reading it opens the run again", async () => {
    const { url } = await runServer();
    const client = await clientTo(url);
    const exchange = client.recordExchange({ format: unknownFormat });
    exchange.respond({ status: 200, contentType: "text/event-stream" });
    const unreadRun = await readStored(client, exchange);
    expect(unreadRun).toMatchObject({ status: "success" });
    expect(unreadRun.extra?.metadata).toMatchObject({ millrace_cancelled: true });
    expect(JSON.stringify(unreadRun.extra)).toContain("The response was not read");
    exchange.startReading();
    exchange.addChunk(bytes("read after all"));
    await client.flush();
    exchange.end();
    const run = await readStored(client, exchange);
    expect(run.outputs).toEqual({ body: "read after all" });
    expect(run.extra?.metadata).not.toHaveProperty("millrace_cancelled");
    expect(run.events).toMatchObject([{ name: "attempt" }, { name: "new_token" }]);
    expect(JSON.stringify(run.extra)).not.toContain("The response was not read");
  });

  test("that is being read is not ended by a flush", async () => {
    const { url } = await runServer();
    const client = await clientTo(url);
    const exchange = client.recordExchange({ format: unknownFormat });
    exchange.respond({ status: 200 });
    exchange.startReading();
    await expect(readStored(client, exchange)).resolves.toMatchObject({ status: "pending" });
  });

  test("that nothing reads ends its run when the process ends", async () => {
    await using server = await loopbackServer();
    const { code } = await runProgram(
      `const client = new Client({ endpoint: ${JSON.stringify(server.endpoint)} });
       const exchange = client.recordExchange({ format: "test.unknown", request: "ask" });
       await client.flush();
       exchange.respond({ status: 200 });`,
    );
    expect(code).toBe(0);
    const sent = server.runRequests.map(({ body }) => body.toString()).join("");
    expect(sent).toContain("The response was not read");
  });

  test.each([
    ["cancelled", "part", true],
    ["cancelled", "data: {}\n\ndata: [DONE]\n\n", undefined],
    ["complete", "part", undefined],
  ] as const)("that was %s after %j is marked as cancelled: %s", async (ending, text, expected) => {
    const { url } = await runServer();
    const client = await clientTo(url);
    const exchange = client.recordExchange({ format: unknownFormat });
    exchange.respond({ status: 200 });
    exchange.addChunk(bytes(text));
    exchange.end({ ending });
    const run = await readStored(client, exchange);
    expect(run).toMatchObject({ status: "success", outputs: { body: text } });
    expect(run.extra?.metadata?.["millrace_cancelled"]).toBe(expected);
  });

  test.each([
    ["that a fetch left compressed is expanded", gzipSync("the response"), "the response"],
    [
      "that is compressed and incomplete stays as it is",
      gzipSync("the response").subarray(0, 14),
      gzipSync("the response").subarray(0, 14).toString("utf8"),
    ],
  ])("%s", async (_, chunk, expected) => {
    const { url } = await runServer();
    const client = await clientTo(url);
    const exchange = client.recordExchange({ format: unknownFormat });
    exchange.respond({ status: 200 });
    exchange.addChunk(chunk);
    exchange.end();
    await expect(readStored(client, exchange)).resolves.toMatchObject({
      outputs: { body: expected },
    });
  });

  test.each([
    ["text/event-stream", undefined, 2],
    ["application/json", undefined, 1],
    ["application/json", "https://g.example/models/m:streamGenerateContent", 2],
  ])(
    "of type %s, of %s, has %i events: a stream has the time of its first chunk",
    async (type, address, count) => {
      const { url } = await runServer();
      const client = await clientTo(url);
      const exchange = client.recordExchange({ format: unknownFormat, url: address });
      exchange.respond({ status: 200, contentType: type });
      exchange.addChunk(bytes("[]"));
      exchange.end();
      const run = await readStored(client, exchange);
      expect(run.events?.map((event) => Reflect.get(event as object, "name") as unknown)).toEqual(
        ["attempt", "new_token"].slice(0, count),
      );
    },
  );

  test("that failed in the middle is recorded with what had arrived, and the error", async () => {
    const { url } = await runServer();
    const client = await clientTo(url);
    const exchange = client.recordExchange({ format: unknownFormat });
    exchange.respond({ status: 200 });
    exchange.addChunk(bytes("part"));
    exchange.end({ ending: "failed", error: new Error("terminated") });
    const run = await readStored(client, exchange);
    expect(run).toMatchObject({ status: "error", outputs: { body: "part" } });
    expect(run.error).toContain("Error: terminated");
  });
});

describe("bounds", () => {
  test("a body beyond maxFieldBytes keeps its beginning and end, and the run says what is missing", async () => {
    const { url } = await runServer();
    const client = await clientTo(url, { maxFieldBytes: 2_048 });
    const long = `first${"x".repeat(10_000)}last`;
    const exchange = recordCall(client, long, { request: long });
    const run = await readStored(client, exchange);
    const kept = `first${"x".repeat(2_039)}last`;
    expect(run.inputs).toEqual({ body: kept });
    expect(run.outputs).toEqual({ body: kept });
    const { millrace_exchange_warnings: warnings } = run.extra?.metadata ?? {};
    expect(warnings).toContain("7961 bytes in the middle of the response were left out");
    expect(client.stats()).toMatchObject({ delivered: 2, truncated: 2 });
  });

  test("a response of 100 MB takes no more memory than the limit", async () => {
    const { url } = await runServer();
    const client = await clientTo(url, { maxFieldBytes: 65_536 });
    const exchange = client.recordExchange({ format: unknownFormat, request: "ask" });
    exchange.respond({ status: 200 });
    const chunk = new Uint8Array(65_536).fill(97);
    const before = process.memoryUsage().arrayBuffers;
    for (let sent = 0; sent < 100_000_000; sent += chunk.length) {
      exchange.addChunk(chunk);
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000);
    exchange.end();
    await expect(readStored(client, exchange)).resolves.toMatchObject({ status: "success" });
  });

  test.each([
    ["large", 300_000, 1],
    ["small", 1_000, 2],
  ])("a %s request is not recorded more often than its size allows", async (_, size, times) => {
    const { url } = await runServer();
    const client = await clientTo(url, { spoolDir: folder, durability: "spool-first" });
    const request = `${"r".repeat(size)}!`;
    const exchange = recordCall(client, "ok", { request, options: { metadata: { own: 1 } } });
    expect(filesText().split(request)).toHaveLength(times + 1);
    const run = await readStored(client, exchange);
    expect(run).toMatchObject({ inputs: { body: request }, outputs: { body: "ok" } });
    expect(run.extra?.metadata).toMatchObject({ own: 1 });
  });

  test("exchanges that do not fit into the queue are counted as lost", async () => {
    const client = new Client({
      endpoint: unreachable,
      maxQueueBytes: 65_536,
      logger: { warn: () => undefined },
    });
    clients.push(client);
    for (let call = 0; call < 20; call++) {
      recordCall(client, "x".repeat(10_000));
    }
    const { accepted, pending, lost } = client.stats();
    expect(accepted).toBe(40);
    expect(lost.queueFull).toBeGreaterThan(0);
    expect(lost.queueFull + pending).toBe(40);
  });
});

describe("privacy", () => {
  const hidden = "secret of the test";

  /** Everything that a client with these options sends for one call. */
  async function sentBy(options: ClientOptions, response = `answer ${hidden}`): Promise<string> {
    await using server = await loopbackServer();
    const client = await clientTo(server.endpoint, options);
    recordCall(client, response, {
      request: `ask ${hidden}`,
      options: { metadata: { note: "mine" }, tags: ["t"] },
    });
    await client.flush();
    expect(client.stats()).toMatchObject({ accepted: 2, delivered: 2 });
    await client.close();
    return server.runRequests.map(({ body }) => body.toString()).join("");
  }

  test("payloads that are hidden completely are not recorded", async () => {
    const sent = await sentBy({ hideInputs: true, hideOutputs: true });
    expect(sent).not.toContain(hidden);
    expect(sent).toContain('"inputs":{}');
    expect(sent).toContain('"outputs":{}');
    expect(sent).toContain('"note":"mine"');
  });

  test("hidden metadata include those that an exchange means", async () => {
    const sent = await sentBy({ hideMetadata: true });
    expect(sent).toContain(`"body":"ask ${hidden}"`);
    expect(sent).not.toContain("millrace_exchange_warnings");
    expect(sent).not.toContain("mine");
  });

  test("functions see what an exchange means, before it leaves the thread", async () => {
    const seen: unknown[] = [];
    const hide =
      (kind: string) =>
      (payload: Readonly<Record<string, unknown>>): Record<string, unknown> => {
        seen.push([kind, Object.keys(payload)]);
        return Object.fromEntries(
          Object.entries(payload).map(([key, value]) => [
            key,
            typeof value === "string" ? value.replaceAll(hidden, "***") : value,
          ]),
        );
      };
    const sent = await sentBy({
      hideInputs: hide("inputs"),
      hideOutputs: hide("outputs"),
      hideMetadata: hide("metadata"),
    });
    expect(seen).toEqual([
      ["inputs", ["body"]],
      ["metadata", ["millrace_exchange_warnings", "note"]],
      ["outputs", ["body"]],
      ["metadata", ["millrace_exchange_warnings", "note"]],
    ]);
    expect(sent).not.toContain(hidden);
    expect(sent).toContain('"body":"ask ***"');
    expect(sent).toContain('"body":"answer ***"');
    expect(sent).toContain('"name":"call"');
    expect(sent).toContain('"run_type":"llm"');
  });

  test("before the code for that is loaded, payloads are withheld", async () => {
    await using server = await loopbackServer();
    const client = new Client({ endpoint: server.endpoint, hideInputs: (inputs) => inputs });
    clients.push(client);
    recordCall(client, `answer ${hidden}`, { request: `ask ${hidden}`, status: 500 });
    await client.flush();
    const sent = server.runRequests.map(({ body }) => body.toString()).join("");
    expect(sent).not.toContain(hidden);
    expect(sent).toContain("withheld: the code that applies");
    expect(sent).toContain('"error":"The response has status 500"');
  });

  test("a function that throws drops only its payload", async () => {
    const sent = await sentBy({
      hideOutputs: () => {
        throw new Error("no");
      },
    });
    expect(sent).toContain('"outputs":{"millrace_error":"hiding failed; outputs dropped"}');
    expect(sent).toContain(`"body":"ask ${hidden}"`);
  });

  test.each([0, 1])(
    "rules of redaction mask what an exchange means, with %i workers",
    async (workers) => {
      const sent = await sentBy({ redact: ["emails"], workers }, `mailed to ${mail}`);
      expect(sent).not.toContain(mail);
      expect(sent).toContain(`mailed to [email]${"*".repeat(mail.length - 7)}`);
    },
  );

  test("a rule that hangs costs one worker: the call arrives with everything masked", async () => {
    await using server = await loopbackServer();
    const client = await clientTo(server.endpoint, {
      redact: [{ name: "endless", pattern: /^(?:a+)+$/ }],
      workerStallMs: 500,
    });
    recordCall(client, `${"a".repeat(60)}!`);
    client.startRun({ name: "good", inputs: { text: "short" } }).end({ fine: true });
    await vi.waitFor(() => expect(client.stats().delivered).toBe(4), { timeout: 30_000 });
    const sent = server.runRequests.map(({ body }) => body.toString()).join("");
    expect(sent).not.toContain("aaaaaaaaaa");
    expect(sent).toContain('{"text":"short"}');
    expect(client.stats().warnings).toMatchObject({ workerStuck: 1, redactionFailure: 1 });
  }, 40_000);

  test.each(["memory", "spool-first"] as const)(
    "with rules of redaction, no raw bytes reach the disk: durability %s",
    async (durability) => {
      const client = await clientTo(unreachable, {
        redact: ["emails"],
        spoolDir: folder,
        durability,
      });
      recordCall(client, `mailed to ${mail}`, { request: `ask ${mail}` });
      await client.close({ timeoutMs: 0 });
      expect(filesText()).toContain("[email]***");
      expect(filesText()).not.toContain(mail);
    },
  );
});

describe("on disk", () => {
  test("exchanges in the spool arrive with the next client", async () => {
    const { url } = await runServer();
    const first = await clientTo(unreachable, { spoolDir: folder });
    const exchange = recordCall(first, "the response");
    await first.close({ timeoutMs: 0 });
    expect(first.stats()).toMatchObject({ accepted: 2, spooled: 2 });
    expect(filesText()).toContain("the response");
    const next = await clientTo(url, { spoolDir: folder });
    await vi.waitFor(() => expect(next.stats().delivered).toBe(2), { timeout: 10_000 });
    await expect(readStored(next, exchange)).resolves.toMatchObject({
      inputs: { body: "the request" },
      outputs: { body: "the response" },
    });
  });

  test("exchanges that were spooled without rules are masked when they are sent with rules", async () => {
    await using server = await loopbackServer();
    const first = await clientTo(unreachable, { spoolDir: folder });
    recordCall(first, `mailed to ${mail}`, { request: `ask ${mail}` });
    await first.close({ timeoutMs: 0 });
    const next = await clientTo(server.endpoint, { spoolDir: folder, redact: ["emails"] });
    await vi.waitFor(() => expect(next.stats().delivered).toBe(2), { timeout: 10_000 });
    const sent = server.runRequests.map(({ body }) => body.toString()).join("");
    expect(sent).toContain("[email]***");
    expect(sent).not.toContain(mail);
  });

  test("exchanges that the server refuses become dead letters, and arrive when they are sent again", async () => {
    await using refusing = await loopbackServer({ runs: [{ status: 422, body: "{}" }] });
    const client = await clientTo(refusing.endpoint, { spoolDir: folder });
    const exchange = recordCall(client, "the response");
    client.startRun({ name: "other" }).end();
    await client.flush();
    expect(client.stats()).toMatchObject({ accepted: 4, rejected: 4 });
    await client.close();
    expect(await inspectSpool(folder)).toMatchObject([{ state: "dead", records: 4 }]);
    const { url } = await runServer();
    await expect(
      replaySpool({ endpoint: url, spoolDir: folder, limitMs: 10_000 }),
    ).resolves.toMatchObject({ delivered: 4, rejected: 0, left: 0 });
    const reader = await clientTo(url);
    await expect(readStored(reader, exchange)).resolves.toMatchObject({
      outputs: { body: "the response" },
    });
  });
});

test("repeated content of exchanges is sent once and arrives whole", async () => {
  const { url } = await runServer();
  const client = await clientTo(url, { contentDeduplication: "once", firstDelayMs: 0 });
  client.startRun({ name: "first" }).end();
  await client.flush();
  const parent = client.startRun({ name: "parent" });
  const repeated = "what was said ".repeat(500);
  const calls = [1, 2, 3].map((turn) =>
    recordCall(client, repeated, { request: repeated + String(turn), options: { parent } }),
  );
  parent.end();
  for (const [index, call] of calls.entries()) {
    await expect(readStored(client, call)).resolves.toMatchObject({
      inputs: { body: repeated + String(index + 1) },
      outputs: { body: repeated },
    });
  }
});

test("a short program delivers its calls without a worker", async () => {
  await using server = await loopbackServer();
  const { code, output } = await runProgram(
    `const client = new Client({ endpoint: ${JSON.stringify(server.endpoint)} });
     const exchange = client.recordExchange({ format: "test.unknown", request: "ask" });
     exchange.respond({ status: 200 });
     exchange.addChunk(new TextEncoder().encode("answered"));
     exchange.end();
     await client.flush();`,
  );
  expect({ code, output }).toEqual({ code: 0, output: "" });
  const sent = server.runRequests.map(({ body }) => body.toString()).join("");
  expect(sent).toContain('"outputs":{"body":"answered"}');
});

test("a trace that is not sampled records nothing of its calls", async () => {
  await using server = await loopbackServer();
  const client = await clientTo(server.endpoint, { samplingRate: 0 });
  const exchange = recordCall(client, "the response");
  expect(exchange.isRecorded).toBe(false);
  await client.flush();
  expect(client.stats()).toMatchObject({ accepted: 0, sampledOut: 1 });
});

test("no call throws, whatever it gets", async () => {
  await using server = await loopbackServer();
  const client = await clientTo(server.endpoint);
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new RangeError("hostile");
      },
    },
  );
  const exchanges = [undefined, null, 1, hostile, { format: Symbol("x") }, { format: hostile }].map(
    (options) => client.recordExchange(options as ExchangeOptions),
  );
  for (const exchange of exchanges) {
    exchange.respond(hostile as { status: number });
    exchange.addChunk(hostile as Uint8Array);
    exchange.addRequest(hostile as string);
    exchange.addWarning(hostile as string);
    exchange.end(hostile);
    exchange.beginAttempt();
    exchange.end({ error: hostile });
  }
  recordCall(client, "the response");
  await client.flush();
  const sent = server.runRequests.map(({ body }) => body.toString()).join("");
  expect(sent).toContain('"body":"the response"');
});
