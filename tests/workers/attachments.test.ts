import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished, expect, test } from "vitest";
import type { Attachment } from "../../src/workers/json/attachments.ts";
import { addAttachments } from "../../src/workers/json/attachments.ts";
import { joinRecords } from "../../src/workers/json/operations.ts";
import { RunJson } from "../../src/workers/json/run-json.ts";
import { flattenResult } from "../../src/workers/sinks/sink.ts";
import { createSplittingSink } from "../../src/workers/sinks/splitting-sink.ts";
import { cutBatches, TapeBatch } from "../../src/workers/sinks/tape-batch.ts";
import { TapeReader } from "../../src/workers/json/tape-reader.ts";
import { readMultipart } from "../interop/strict/read-multipart.ts";
import { createTestSink, neverAborted } from "../support/connections.ts";
import { loopbackServer } from "../support/loopback-server.ts";
import { runId, tapeOf } from "../support/run-batch.ts";
import { runsIn } from "../support/runs-in-body.ts";
import type { TestRecord } from "../support/run-batch.ts";

async function batchWith(...records: readonly TestRecord[]): Promise<TapeBatch> {
  const { memory, usedBytes } = tapeOf(records);
  const reader = new TapeReader(memory, usedBytes);
  const rules = { areAllowed: true, limitBytes: 1_048_576 };
  const runs = await addAttachments(reader, joinRecords(reader), rules);
  return new TapeBatch(reader, new RunJson(reader, Buffer.from("{}")), runs);
}

const file = (size: number): readonly [string, Uint8Array] => [
  "image/png",
  new Uint8Array(size).fill(7),
];

interface AcceptingServer {
  readonly endpoint: string;
  /** Names of the parts of each accepted request; for a JSON request, the names of its runs. */
  readonly accepted: string[][];
  /** The content of each attachment that arrived. */
  readonly files: Map<string, Buffer>;
}

/** Accepts requests of at most `limit` bytes and responds with 413 to others. */
async function startAcceptingUpTo(limit: number): Promise<AcceptingServer> {
  const accepted: string[][] = [];
  const files = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      if (body.length > limit) {
        response.writeHead(413).end();
        return;
      }
      const type = request.headers["content-type"] ?? "";
      if (type === "application/json") {
        accepted.push(runsIn(body).started.map((id) => `post.${id}`));
        response.writeHead(202).end("{}");
        return;
      }
      const { parts } = readMultipart(type, body);
      accepted.push(parts.map(({ name }) => name));
      for (const { name, bytes } of parts) {
        files.set(name.split(".").at(-1) ?? "", bytes);
      }
      response.writeHead(202).end("{}");
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}`, accepted, files };
}

const start = (attachments: Readonly<Record<string, unknown>>): TestRecord => ({
  id: runId(1),
  run: { inputs: { q: 1 }, attachments },
});

const leftOutOf = (batch: { runs: TapeBatch["runs"] }): readonly string[] =>
  batch.runs.flatMap(({ attachments = [] }) =>
    attachments
      .filter((one: Attachment) => one.omittedReason !== undefined)
      .map(({ name }) => name),
  );

test("413: the run is sent first, and then its attachments, each of which fits by itself", async () => {
  const server = await startAcceptingUpTo(6_000);
  await using to = createTestSink(server.endpoint);
  const batch = await batchWith(start({ a: file(5_000), b: file(5_000), c: file(100) }));
  const outcome = await createSplittingSink(to.sink).send(batch, neverAborted());
  const [part, ...more] = flattenResult({ batch, outcome });
  expect([part?.outcome, more]).toEqual([{ kind: "delivered" }, []]);
  expect(part?.batch.runs).toHaveLength(1);
  expect(leftOutOf(part!.batch)).toEqual([]);
  expect(server.accepted[0]).toEqual([`post.${runId(1)}`]);
  expect(server.accepted.slice(1).flat().toSorted()).toEqual(
    ["a", "b", "c"].map((name) => `attachment.${runId(1)}.${name}`),
  );
  expect(server.files.get("a")).toHaveLength(5_000);
});

test("413 for a single attachment leaves a marker in its place; the others arrive", async () => {
  const server = await startAcceptingUpTo(3_000);
  await using to = createTestSink(server.endpoint);
  const batch = await batchWith(start({ large: file(5_000), small: file(100) }));
  const outcome = await createSplittingSink(to.sink).send(batch, neverAborted());
  const [part] = flattenResult({ batch, outcome });
  expect(part?.outcome).toEqual({ kind: "delivered" });
  expect(leftOutOf(part!.batch)).toEqual(["large"]);
  expect(server.files.get("small")).toHaveLength(100);
  expect(server.files.get("large")?.toString()).toBe(
    "[left out: 5000 bytes exceed the server's size limit]",
  );
});

test("a start and an end with attachments are separated, each with its own", async () => {
  const server = await startAcceptingUpTo(4_000);
  await using to = createTestSink(server.endpoint);
  const batch = await batchWith(start({ first: file(2_500) }), {
    id: runId(1),
    operation: "patch",
    run: { outputs: {}, attachments: { second: file(2_500) } },
  });
  await createSplittingSink(to.sink).send(batch, neverAborted());
  const withFile = server.accepted.map((names) =>
    names.filter((name) => name.startsWith("attach")),
  );
  expect(withFile).toEqual([[`attachment.${runId(1)}.first`], [`attachment.${runId(1)}.second`]]);
});

test.each([
  ["batch", [{ status: 404 }]],
  ["single", [{ status: 404 }, { status: 404 }]],
])(
  "a server that accepts only JSON (%s) gets the run with an event for each attachment",
  async (_format, refusals) => {
    await using server = await loopbackServer({ runs: [...refusals, { status: 202, body: "{}" }] });
    await using to = createTestSink(server.endpoint);
    const batch = await batchWith({
      id: runId(1),
      run: { events: [{ name: "mine" }], attachments: { photo: file(10), 'sound "x': file(20) } },
    });
    // The recorder has already omitted the attachment whose name contains a quote.
    const outcome = await to.sink.send(batch, neverAborted());
    const [part] = flattenResult({ batch, outcome });
    expect(part?.outcome).toEqual({ kind: "delivered" });
    expect(leftOutOf(part!.batch)).toHaveLength(2);
    const body = JSON.parse(server.requests.at(-1)!.body.toString()) as {
      readonly post?: readonly unknown[];
    };
    const [run] = body.post ?? [body];
    expect(run).toMatchObject({
      id: runId(1),
      events: [
        { name: "mine" },
        {
          attachment: "photo",
          mime_type: "image/png",
          bytes: 10,
          reason: "the server accepts runs only as JSON, without attachments",
        },
        { attachment: "sound _x" },
      ],
    });
  },
);

test("a run that was sent without its attachments and failed is sent again with them", async () => {
  // The multipart endpoint is missing for a moment, as behind a proxy, and the JSON request that follows is refused too.
  await using server = await loopbackServer({ runs: [{ status: 404 }, { status: 503 }] });
  await using to = createTestSink(server.endpoint);
  const batch = await batchWith(start({ photo: file(10) }));
  const outcome = await to.sink.send(batch, neverAborted());
  const parts = flattenResult({ batch, outcome });
  expect(parts).toMatchObject([{ outcome: { kind: "retry", status: 503 } }]);
  expect(parts[0]?.batch).toBe(batch);
});

test("a body is sent again completely after a failure", async () => {
  await using server = await loopbackServer({
    runs: [{ status: 500 }, { status: 202, body: "{}" }],
  });
  await using to = createTestSink(server.endpoint);
  const batch = await batchWith(start({ a: file(600_000) }));
  expect(await to.sink.send(batch, neverAborted())).toMatchObject({ kind: "retry" });
  expect(await to.sink.send(batch, neverAborted())).toEqual({ kind: "delivered" });
  const [first, second] = server.requests.map(({ body }) => body);
  expect(first?.equals(second!)).toBe(true);
  expect(second!.length).toBeGreaterThan(600_000);
});

test("runs with attachments are sent separately from those without", async () => {
  const { memory, usedBytes } = tapeOf([
    { id: runId(1) },
    { id: runId(2), run: { attachments: { a: file(10) } } },
    { id: runId(3) },
  ]);
  const reader = new TapeReader(memory, usedBytes);
  const rules = { areAllowed: false, limitBytes: 1 };
  const runs = await addAttachments(reader, joinRecords(reader), rules);
  const json = new RunJson(reader, Buffer.from("{}"));
  const limits = { maxRuns: 100, maxBytes: 1_000_000, suspectRecords: [] };
  const { batches: cut } = cutBatches(
    reader,
    (selected) => new TapeBatch(reader, json, selected),
    runs,
    limits,
  );
  expect(cut.map((batch) => batch.runs.map(({ id }) => id))).toEqual([
    [runId(1), runId(3)],
    [runId(2)],
  ]);
});
