import { describe, expect, test } from "vitest";
import { neverAborted, createTestSink } from "../support/connections.ts";
import { outcomesByRun } from "../support/fake-batch.ts";
import { loopbackServer } from "../support/loopback-server.ts";
import type { ScriptedResponse } from "../support/loopback-server.ts";
import { parseMultipart } from "../support/parse-multipart.ts";
import { batchOf, manyRuns, runId } from "../support/run-batch.ts";

const missing: ScriptedResponse = { status: 404, body: '{"detail":"Not Found"}' };
const accepted: ScriptedResponse = { status: 202, body: "{}" };
/** A text that makes a run too large for a JSON batch. */
const long = "words ".repeat(3_000);
const large = { inputs: { long } };

describe("the format of a request", () => {
  test("a batch of large runs is sent as multipart: exact lengths, posts before patches, separate payloads", async () => {
    await using server = await loopbackServer();
    await using to = createTestSink(server.endpoint);
    const text = `${long}ünïcödé 漢字 🦫 "quoted" \\ \r\n\u0000 \ud800`;
    const batch = batchOf([
      { id: runId(1), operation: "patch", run: { outputs: { text }, end_time: 5 } },
      { id: runId(2), run: { name: text, inputs: { text }, tags: [text] } },
    ]);
    expect(await to.sink.send(batch, neverAborted())).toEqual({ kind: "delivered" });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: "POST", path: "/runs/multipart" });
    const parts = parseMultipart(request!.headers["content-type"] ?? "", request!.body);
    const run = (operation: string, id: string) => ({ kind: "run", operation, runId: id });
    const field = (operation: string, id: string, name: string) => ({
      ...run(operation, id),
      kind: "field",
      field: name,
    });
    expect(parts.map(({ name }) => name)).toEqual([
      run("post", runId(2)),
      field("post", runId(2), "inputs"),
      run("patch", runId(1)),
      field("patch", runId(1), "outputs"),
    ]);
    expect(parts[0]?.value).toMatchObject({
      id: runId(2),
      trace_id: runId(2),
      dotted_order: expect.stringContaining(runId(2)) as string,
      name: text,
      tags: [text],
      session_name: "p",
    });
    expect(parts[0]?.value).not.toHaveProperty("inputs");
    expect(parts[1]?.value).toEqual({ text });
    expect(parts[3]?.value).toEqual({ text });
  });

  test("a start and an end that wait together become one post", async () => {
    await using server = await loopbackServer();
    await using to = createTestSink(server.endpoint);
    const batch = batchOf([
      { id: runId(1), run: { inputs: { a: 1 } } },
      { id: runId(1), operation: "patch", run: { outputs: { b: 2 }, error: "late" } },
    ]);
    await to.sink.send(batch, neverAborted());
    const body = JSON.parse(server.requests[0]!.body.toString()) as Record<string, unknown[]>;
    expect(body["patch"]).toEqual([]);
    expect(body["post"]).toEqual([
      expect.objectContaining({ id: runId(1), inputs: { a: 1 }, outputs: { b: 2 }, error: "late" }),
    ]);
  });

  test("small runs are sent as one JSON object although multipart is available; large ones and attachments as multipart", async () => {
    await using server = await loopbackServer();
    await using to = createTestSink(server.endpoint);
    const batches = [
      batchOf(manyRuns(2)),
      batchOf(manyRuns(2, large)),
      batchOf([...manyRuns(20), { id: runId(21), run: large }]),
      batchOf([{ id: runId(1), run: { inputs: { data: new Uint8Array(512) } } }], 512),
      batchOf([{ id: runId(1), run: { inputs: { data: new Uint8Array(400) } } }], 512),
    ];
    for (const batch of batches) {
      expect(await to.sink.send(batch, neverAborted())).toEqual({ kind: "delivered" });
    }
    const formats = server.requests.map(({ path }) => path.replace("/runs/", ""));
    expect(formats).toEqual(["batch", "multipart", "batch", "multipart", "batch"]);
    const { post } = JSON.parse(server.requests[2]!.body.toString()) as { post: unknown[] };
    expect(post[20]).toMatchObject({ id: runId(21), ...large });
  });

  test("a server with only the multipart endpoint gets small runs as multipart from then on", async () => {
    await using server = await loopbackServer({ runs: [missing, accepted] });
    await using to = createTestSink(server.endpoint);
    for (let round = 0; round < 2; round++) {
      const batch = batchOf(manyRuns(2));
      expect(await to.sink.send(batch, neverAborted())).toEqual({ kind: "delivered" });
    }
    expect(server.requests.map(({ path }) => path)).toEqual([
      "/runs/batch",
      "/runs/multipart",
      "/runs/multipart",
    ]);
  });

  test.each([404, 405])(
    "after a %i for multipart, batch JSON is used from then on",
    async (status) => {
      await using server = await loopbackServer({ runs: [{ status }, accepted] });
      await using to = createTestSink(server.endpoint);
      const batch = batchOf([
        ...manyRuns(2, large),
        { id: runId(9), operation: "patch", run: { outputs: { b: 2 } } },
      ]);
      expect(await to.sink.send(batch, neverAborted())).toEqual({ kind: "delivered" });
      expect(await to.sink.send(batch, neverAborted())).toEqual({ kind: "delivered" });
      expect(server.requests.map(({ path }) => path)).toEqual([
        "/runs/multipart",
        "/runs/batch",
        "/runs/batch",
      ]);
      const { headers, body } = server.requests[2]!;
      expect(headers["content-type"]).toBe("application/json");
      expect(JSON.parse(body.toString())).toMatchObject({
        post: [{ id: runId(1) }, { id: runId(2) }],
        patch: [{ id: runId(9), outputs: { b: 2 } }],
      });
    },
  );

  test("without either endpoint, runs are sent one by one from then on", async () => {
    await using server = await loopbackServer({ runs: [missing, missing, accepted] });
    await using to = createTestSink(server.endpoint);
    const batch = batchOf([
      ...manyRuns(2),
      { id: runId(9), operation: "patch", run: { outputs: { b: 2 } } },
    ]);
    for (let round = 0; round < 2; round++) {
      const outcome = await to.sink.send(batch, neverAborted());
      expect(outcomesByRun(batch, outcome)).toEqual(["delivered", "delivered", "delivered"]);
    }
    const singles = server.requests.slice(2);
    expect(singles).toHaveLength(6);
    const calls = singles.map(({ method, path }) => `${method} ${path}`).toSorted();
    expect(new Set(calls)).toEqual(new Set(["POST /runs", `PATCH /runs/${runId(9)}`]));
    const patch = singles.find(({ method }) => method === "PATCH");
    expect(JSON.parse(patch!.body.toString())).toMatchObject({ outputs: { b: 2 } });
  });

  test("a PATCH of a run that a server of single calls lacks changes nothing for the others", async () => {
    const onlyPatchMissing: ScriptedResponse = (response, { method }) => {
      response.writeHead(method === "PATCH" ? 404 : 202).end();
    };
    await using server = await loopbackServer({ runs: [missing, missing, onlyPatchMissing] });
    await using to = createTestSink(server.endpoint);
    const batch = batchOf([...manyRuns(2), { id: runId(9), operation: "patch" }]);
    expect(outcomesByRun(batch, await to.sink.send(batch, neverAborted()))).toEqual([
      "delivered",
      "delivered",
      "rejected",
    ]);
    expect(to.state.chooseFormat(batch)).toBe("single");
  });

  test("without any endpoint the runs are rejected, and the next batch starts with multipart again", async () => {
    await using server = await loopbackServer({ runs: [missing, missing, missing, accepted] });
    await using to = createTestSink(server.endpoint);
    const batch = batchOf(manyRuns(1));
    expect(await to.sink.send(batch, neverAborted())).toMatchObject({ rejection: { status: 404 } });
    expect(await to.sink.send(batch, neverAborted())).toEqual({ kind: "delivered" });
    expect(server.requests.map(({ path }) => path)).toEqual([
      "/runs/batch",
      "/runs/multipart",
      "/runs",
      "/runs/batch",
    ]);
  });

  test("a run without a dotted order is sent alone, also to a server with batches", async () => {
    await using server = await loopbackServer();
    await using to = createTestSink(server.endpoint);
    await to.sink.send(batchOf([{ id: runId(1), withoutDottedOrder: true }]), neverAborted());
    expect(server.requests[0]).toMatchObject({ method: "POST", path: "/runs" });
    expect(to.state.chooseFormat({ isSmall: false })).toBe("multipart");
  });

  test("the path of a base address is kept", async () => {
    await using server = await loopbackServer();
    await using to = createTestSink(`${server.endpoint}/api/v1`);
    await to.sink.send(batchOf(manyRuns(1)), neverAborted());
    expect(server.requests[0]?.path).toBe("/api/v1/runs/batch");
  });

  test("no name, tag, project or value of a caller appears in a part's headers", async () => {
    await using server = await loopbackServer();
    await using to = createTestSink(server.endpoint);
    const evil = '"\r\nX-Evil: 1\r\n\r\n--millrace-x';
    const run = {
      name: evil,
      tags: [evil],
      session_name: evil,
      run_type: evil,
      inputs: { [evil]: evil, long },
      extra: { [evil]: evil },
      [evil]: evil,
    };
    await to.sink.send(batchOf([{ id: runId(1), run }]), neverAborted());
    const { headers, body } = server.requests[0]!;
    const parts = parseMultipart(headers["content-type"] ?? "", body);
    expect(parts).toHaveLength(3);
    expect(parts[0]?.value).toMatchObject({ name: evil, [evil]: evil, session_name: evil });
    expect(body.includes("\r\nX-Evil")).toBe(false);
  });
});

describe("what a request carries", () => {
  test("the key, the workspace and extra headers, which can't replace ours", async () => {
    await using server = await loopbackServer();
    await using to = createTestSink(server.endpoint, {
      apiKey: "the-key",
      workspaceId: "the-workspace",
      headers: {
        "X-Team": "millers",
        Authorization: "Bearer gateway",
        "X-API-Key": "evil",
        "x-api-key": "evil",
        "Content-Type": "text/plain",
        "content-encoding": "br",
        "Content-Length": "3",
        "Transfer-Encoding": "chunked",
        Connection: "close",
        Expect: "100-continue",
      },
    });
    expect(await to.sink.send(batchOf(manyRuns(1)), neverAborted())).toEqual({ kind: "delivered" });
    const { headers } = server.requests[0]!;
    expect(headers).toMatchObject({
      "x-team": "millers",
      authorization: "Bearer gateway",
      "x-api-key": "the-key",
      "x-tenant-id": "the-workspace",
      "content-type": "application/json",
      "user-agent": expect.stringMatching(/^millrace\//) as string,
    });
    expect(headers).not.toHaveProperty("content-encoding");
    expect(headers).not.toHaveProperty("expect");
  });

  test("without a key, an extra header can't provide one", async () => {
    await using server = await loopbackServer();
    await using to = createTestSink(server.endpoint, { headers: { "X-Api-Key": "evil" } });
    await to.sink.send(batchOf(manyRuns(1)), neverAborted());
    expect(server.requests[0]?.headers).not.toHaveProperty("x-api-key");
  });

  test("a header with a line end is refused permanently, and nothing is sent", async () => {
    await using server = await loopbackServer();
    await using to = createTestSink(server.endpoint, { headers: { "x-team": "a\r\nx-evil: 1" } });
    expect(await to.sink.send(batchOf(manyRuns(1)), neverAborted())).toMatchObject({
      kind: "rejected",
      rejection: { code: "OPTION", message: expect.stringContaining("x-team") as string },
    });
    expect(server.requests).toHaveLength(0);
  });

  test("requests and bytes are counted as sent, once", async () => {
    await using server = await loopbackServer();
    await using to = createTestSink(server.endpoint);
    await to.sink.send(batchOf(manyRuns(3)), neverAborted());
    const bytes = server.requests[0]!.body.length;
    expect(to.traffic).toMatchObject({ requests: 1, bytesSent: bytes, responses: 1 });
    expect(to.sink.takeRequestCounts()).toEqual({ requests: 1, bytes });
    expect(to.sink.takeRequestCounts()).toEqual({ requests: 0, bytes: 0 });
  });

  test("no more requests are in flight than the connection allows", async () => {
    let underWay = 0;
    let mostInFlight = 0;
    const slowly: ScriptedResponse = (response) => {
      mostInFlight = Math.max(mostInFlight, ++underWay);
      setTimeout(() => {
        underWay -= 1;
        response.writeHead(202).end();
      }, 5);
    };
    await using server = await loopbackServer({ runs: [slowly] });
    await using to = createTestSink(server.endpoint, { requestsInFlight: 3 });
    const batch = batchOf(manyRuns(1));
    await Promise.all(Array.from({ length: 20 }, () => to.sink.send(batch, neverAborted())));
    expect(mostInFlight).toBe(3);
    expect(server.connections).toBeLessThanOrEqual(4);
  });
});
