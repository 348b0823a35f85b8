import { expect, test } from "vitest";
import { loopbackServer } from "../support/loopback-server.ts";
import type { ReceivedRequest } from "../support/loopback-server.ts";
import { parseMultipart } from "../support/parse-multipart.ts";
import { runProgram } from "../support/run-program.ts";

/** A program that records the rows of docs/values.md. `recorded` ends with the statement that follows the recording. */
const program = `
import { Readable } from "node:stream";
const [workers, ending] = [Number(process.env.WORKERS), process.env.ENDING];
const client = new Client({
  endpoint: process.env.ENDPOINT, workers, exitTimeoutMs: 15_000, maxFieldBytes: 400_000, compression: "none",
});
const self = { toJSON: () => self, kept: 1 };
const cycle = { name: "cycle" };
cycle.cycle = cycle;
let deep = "core";
for (let i = 0; i < 200_000; i++) deep = [deep];
const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();
const values = {
  cycle, bigint: 2n ** 70n, huge: 1n << 70_000n,
  map: new Map([["a", 1]]), pairs: new Map([[{ k: 1 }, 2]]), set: new Set([1, "b"]),
  error: new TypeError("outer", { cause: new Error("inner") }),
  date: new Date(0), invalid: new Date(NaN), regexp: /a+/gi, url: new URL("http://h/p"),
  buffer: Buffer.from("hi"), typed: new Uint16Array([1]), large: Buffer.alloc(1_000_000),
  function: function ask() {}, symbol: Symbol("x"), promise: Promise.resolve(1), stream: Readable.from([]),
  revoked, proxy: new Proxy({}, { ownKeys() { throw new Error("no keys"); } }),
  get getter() { throw new Error("boom"); },
  throwing: { toJSON() { throw new Error("no"); } }, self, promised: { toJSON: () => Promise.resolve(1) },
  deep, lone: "a\\ud800b", __own: JSON.parse('{"__proto__":1,"constructor":2}'),
  mutable: { before: true },
};
const run = client.startRun({ name: "values", inputs: values });
values.mutable.before = false;
values.map.set("late", 1);
values.buffer.fill(0);
run.end({ keys: Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => ["k" + i, i])) });
client.startRun({ name: "longest", inputs: { text: "x".repeat(2 ** 29 - 24), after: 1 } }).end();
const { truncated, accepted, lost } = client.stats();
process.stdout.write(JSON.stringify({ truncated, accepted, lost }) + "\\n");
if (ending === "exit") process.exit(3);
await client.close();
process.stdout.write(JSON.stringify(client.stats().delivered));
`;

/** The payloads that arrived, by run and field. */
function payloads(
  requests: readonly ReceivedRequest[],
): ReadonlyMap<string, Record<string, unknown>> {
  const byRun = new Map<string, Record<string, unknown>>();
  for (const { path, headers, body } of requests) {
    if (path === "/runs/batch") {
      const { post } = JSON.parse(body.toString()) as { post: readonly Record<string, unknown>[] };
      post.forEach((run) => byRun.set(String(run["id"]), run));
      continue;
    }
    for (const { name, value } of parseMultipart(headers["content-type"] ?? "", body)) {
      if (name.kind === "run" || name.kind === "field") {
        const run = byRun.get(name.runId) ?? {};
        Object.assign(run, name.kind === "run" ? value : { [name.field]: value });
        byRun.set(name.runId, run);
      }
    }
  }
  return new Map([...byRun.values()].map((run) => [String(run["name"]), run]));
}

const paths = [
  { path: "worker threads", workers: "1", howItEnds: "close", code: 0 },
  { path: "no worker", workers: "0", howItEnds: "close", code: 0 },
  { path: "process.exit in the same tick", workers: "1", howItEnds: "exit", code: 3 },
] as const;

test.each(paths)(
  "P8: every row of the table, by $path",
  async ({ workers, howItEnds, code }) => {
    await using server = await loopbackServer();
    const result = await runProgram(program, {
      env: { ENDPOINT: server.endpoint, WORKERS: workers, ENDING: howItEnds },
    });
    expect(result.code).toBe(code);
    const found = payloads(server.runRequests);
    const { inputs, outputs } = found.get("values") ?? {};
    expect(inputs).toEqual({
      cycle: { name: "cycle", cycle: "[circular]" },
      bigint: "1180591620717411303424",
      huge: "[too large: BigInt of more than 65536 bits]",
      map: { a: 1 },
      pairs: [[{ k: 1 }, 2]],
      set: [1, "b"],
      error: {
        name: "TypeError",
        message: "outer",
        stack: expect.stringContaining("TypeError: outer\n") as string,
        cause: {
          name: "Error",
          message: "inner",
          stack: expect.stringContaining("Error: inner\n") as string,
        },
      },
      date: "1970-01-01T00:00:00.000Z",
      invalid: "[invalid date]",
      regexp: "/a+/gi",
      url: "http://h/p",
      buffer: { type: "Buffer", encoding: "base64", data: "aGk=" },
      typed: { type: "Uint16Array", encoding: "base64", data: "AQA=" },
      large: "[too large: Buffer of 1000000 bytes]",
      function: "[function ask]",
      symbol: "[Symbol(x)]",
      promise: "[Promise]",
      stream: "[Readable]",
      revoked: expect.stringMatching(/^\[unserializable: /) as string,
      proxy: "[unserializable: no keys]",
      getter: "[unserializable: boom]",
      throwing: "[unserializable: no]",
      self: { toJSON: "[function toJSON]", kept: 1 },
      promised: "[Promise]",
      deep: expect.anything() as unknown,
      lone: "a\ud800b",
      __own: JSON.parse('{"__proto__":1,"constructor":2}') as unknown,
      mutable: { before: true },
    });
    expect(JSON.stringify(inputs)).toContain("[too deep: 500 levels]");
    const { keys } = outputs as { keys: Record<string, unknown> };
    expect(keys["k1000"]).toBe(1_000);
    expect(keys["[truncated]"]).toBe(`${100_000 - Object.keys(keys).length + 1} more keys`);
    expect(found.get("longest")?.["inputs"]).toEqual({
      text: expect.stringMatching(/^x{300000,}…\[truncated: 53\d{7} more characters\]$/) as string,
      after: 1,
    });
    // The large Buffer is in one field, the keys in another, the longest text in a third.
    expect(result.output).toContain('{"truncated":3,"accepted":4,');
    expect(result.output).not.toMatch(/"(queueFull|unencodable|closed)":[1-9]/);
  },
  60_000,
);

const info = JSON.stringify({
  version: "0.10.0",
  batch_ingest_config: { use_multipart_endpoint: true, size_limit: 100, size_limit_bytes: 300_000 },
});
const large = `
const client = new Client({
  endpoint: process.env.ENDPOINT, workers: Number(process.env.WORKERS), exitTimeoutMs: 15_000, compression: "none",
});
client.startRun({ name: "first" }).end();
await client.flush();
for (const name of ["a", "large", "b"]) {
  const text = name === "large" ? "\\u0001".repeat(200_000) : name;
  client.startRun({ name, inputs: { text }, metadata: { m: 1 } }).end({ out: "x".repeat(name === "large" ? 250_000 : 1) });
}
if (process.env.ENDING === "exit") process.exit(3);
await client.flush();
process.stdout.write(JSON.stringify(client.stats()));
await client.close();
`;

test.each(paths)(
  "content that exceeds the server's limit as JSON is replaced by a marker and the rest arrives, by $path",
  async ({ workers, howItEnds, code }) => {
    await using server = await loopbackServer({ info: { status: 200, body: info } });
    const result = await runProgram(large, {
      env: { ENDPOINT: server.endpoint, WORKERS: workers, ENDING: howItEnds },
    });
    expect(result.code).toBe(code);
    for (const { body } of server.runRequests) {
      expect(body.length).toBeLessThanOrEqual(300_000);
    }
    const found = payloads(server.runRequests);
    expect(found.get("large")).toMatchObject({
      inputs: { "[truncated]": expect.stringMatching(/^\d{6} bytes, /) as string },
      outputs: { out: "x".repeat(250_000) },
      extra: { metadata: { m: 1 } },
    });
    expect(found.get("a")).toMatchObject({ inputs: { text: "a" }, outputs: { out: "x" } });
    expect(found.get("b")).toMatchObject({ inputs: { text: "b" }, outputs: { out: "x" } });
    expect(result.output).toMatch(
      howItEnds === "close"
        ? /"delivered":8,.*"pending":0,.*"truncated":1,/
        : /^\[millrace\] Fields of a run that exceeded[^\n]*\n$/,
    );
  },
  60_000,
);
