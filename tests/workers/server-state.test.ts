import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { Compression } from "../../src/model/options/connection.ts";
import { defaultServerInfo } from "../../src/model/resources/server-info.ts";
import { compress, zstdCompressSync } from "../../src/workers/sinks/compression.ts";
import { ServerState } from "../../src/workers/sinks/server-state.ts";
import { createTestSink, neverAborted } from "../support/connections.ts";
import { destroyConnection, neverRespond, loopbackServer } from "../support/loopback-server.ts";
import type { ScriptedResponse } from "../support/loopback-server.ts";
import { batchOf, manyRuns } from "../support/run-batch.ts";

const missing: ScriptedResponse = { status: 404, body: '{"detail":"Not Found"}' };
const hasZstd = zstdCompressSync !== undefined;

describe("how bodies are compressed", () => {
  const encoding = (compression: Compression, gzip: boolean, zstd: boolean) => {
    const state = new ServerState({ endpoint: "https://runs.test", compression });
    state.updateInfo({ ...defaultServerInfo, gzip, zstd });
    return state.encoding;
  };

  test.each<readonly [Compression, boolean, boolean, string | undefined]>([
    ["auto", false, false, undefined],
    ["auto", true, false, "gzip"],
    ["auto", false, true, hasZstd ? "zstd" : undefined],
    ["auto", true, true, hasZstd ? "zstd" : "gzip"],
    ["gzip", true, true, "gzip"],
    ["gzip", false, true, undefined],
    ["zstd", true, false, undefined],
    ["zstd", true, true, hasZstd ? "zstd" : undefined],
    ["none", true, true, undefined],
  ])("%s, gzip offered %s, zstd offered %s: %s", (compression, gzip, zstd, expected) => {
    expect(encoding(compression, gzip, zstd)).toBe(expected);
  });

  test("before /info responds, no compression is used", () => {
    expect(
      new ServerState({ endpoint: "https://runs.test", compression: "gzip" }).encoding,
    ).toBeUndefined();
  });

  test("compressed bodies can be decompressed", () => {
    const bytes = Buffer.from("text ".repeat(1_000));
    expect(gunzipSync(compress(bytes, "gzip"))).toEqual(bytes);
  });
});

const offer = (gzip: boolean, zstd: boolean): ScriptedResponse => ({
  body: JSON.stringify({
    version: "1.0.0",
    instance_flags: { gzip_body_enabled: gzip, zstd_compression_enabled: zstd },
  }),
});

describe("compression", () => {
  const big = batchOf(manyRuns(20, { inputs: { text: "long text ".repeat(100) } }));

  test("before /info offers gzip, bodies are uncompressed; afterwards gzip is used if requested", async () => {
    await using server = await loopbackServer({ info: offer(true, false) });
    await using to = createTestSink(server.endpoint, { compression: "gzip" });
    await to.sink.send(big, neverAborted());
    await to.sink.readInfo(neverAborted());
    await to.sink.send(big, neverAborted());
    const [plain, zipped] = server.runRequests;
    expect(plain?.headers).not.toHaveProperty("content-encoding");
    expect(zipped?.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(zipped!.body)).toEqual(plain?.body);
    expect(to.sink.takeRequestCounts().bytes).toBe(plain!.body.length + zipped!.body.length);
  });

  test("a server that no longer accepts gzip gets the same body and all later ones uncompressed", async () => {
    await using server = await loopbackServer({
      info: offer(true, false),
      runs: [{ status: 415 }, { status: 202 }],
    });
    await using to = createTestSink(server.endpoint, { compression: "gzip" });
    await to.sink.readInfo(neverAborted());
    expect(await to.sink.send(big, neverAborted())).toEqual({ kind: "delivered" });
    expect(await to.sink.send(big, neverAborted())).toEqual({ kind: "delivered" });
    const encodings = server.runRequests.map(({ headers }) => headers["content-encoding"]);
    expect(encodings).toEqual(["gzip", undefined, undefined]);
  });

  test("after a 415 for an uncompressed body, it is not sent again at once", async () => {
    await using server = await loopbackServer({ runs: [{ status: 415 }] });
    await using to = createTestSink(server.endpoint);
    expect(await to.sink.send(big, neverAborted())).toMatchObject({
      kind: "retry",
      isServerUnavailable: false,
    });
    expect(server.runRequests).toHaveLength(1);
  });

  test("a body that is too small to benefit stays uncompressed", async () => {
    await using server = await loopbackServer({ info: offer(true, false) });
    await using to = createTestSink(server.endpoint, { compression: "gzip" });
    await to.sink.readInfo(neverAborted());
    await to.sink.send(batchOf(manyRuns(1)), neverAborted());
    expect(server.runRequests[0]?.headers).not.toHaveProperty("content-encoding");
  });

  test.each(["auto", "none"] as const)(
    "%s sends uncompressed bodies to a loopback address, whatever it offers",
    async (compression) => {
      await using server = await loopbackServer({ info: offer(true, true) });
      await using to = createTestSink(server.endpoint, { compression });
      await to.sink.readInfo(neverAborted());
      await to.sink.send(big, neverAborted());
      expect(server.runRequests[0]?.headers).not.toHaveProperty("content-encoding");
    },
  );
});

describe("/info", () => {
  const bodies: readonly (readonly [string, ScriptedResponse])[] = [
    ["hangs", neverRespond],
    ["is 500", { status: 500 }],
    ["is 404", missing],
    ["is garbage", { body: "<html>" }],
    ["is JSON of another kind", { body: '[1, "two", null]' }],
    ["is empty", { body: "" }],
    ["breaks off", destroyConnection],
  ];

  test.each(bodies)("that %s keeps the defaults, and runs do not wait for it", async (_, info) => {
    await using server = await loopbackServer({ info });
    await using to = createTestSink(server.endpoint, { requestsInFlight: 1, compression: "gzip" });
    const abort = new AbortController();
    const infoRequest = to.sink.readInfo(abort.signal).catch(() => undefined);
    expect(await to.sink.send(batchOf(manyRuns(30)), neverAborted())).toEqual({
      kind: "delivered",
    });
    abort.abort();
    await infoRequest;
    expect(to.state.serverInfo).toMatchObject({ batchLimit: 100, multipart: true, gzip: false });
    expect(server.runRequests[0]?.headers).not.toHaveProperty("content-encoding");
  });

  test("without multipart causes batch JSON from then on", async () => {
    const info = { body: '{"batch_ingest_config":{"use_multipart_endpoint":false}}' };
    await using server = await loopbackServer({ info });
    await using to = createTestSink(server.endpoint);
    await to.sink.readInfo(neverAborted());
    await to.sink.send(batchOf(manyRuns(1)), neverAborted());
    expect(server.runRequests[0]?.path).toBe("/runs/batch");
  });
});
