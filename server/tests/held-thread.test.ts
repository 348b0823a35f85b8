import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { pollBeside } from "./support/info-poller.ts";
import { call, runServer } from "./support/running-server.ts";

/** Longest time for which one request may hold the HTTP thread. */
const heldMaxMs = 250;

const manyLists = gzipSync(
  Buffer.concat([
    Buffer.from('{"value":[[]'),
    Buffer.from(",[]".repeat(8_300_000 - 1)),
    Buffer.from("]}"),
  ]),
);
const gzip = { "content-encoding": "gzip", "content-type": "application/json" };

test.each(["POST /feedback/tokens/x", "POST /runs/query"])(
  "millions of empty lists sent to %s hold the HTTP thread no longer than any request",
  async (target) => {
    const server = await runServer();
    const { info, result } = await pollBeside(server, () =>
      call(server, target, { body: manyLists, headers: gzip }),
    );
    expect(result.status).toBeGreaterThanOrEqual(400);
    expect(result.status).toBeLessThan(500);
    expect(info.worstMs).toBeLessThan(heldMaxMs);
    expect(info.polls).toBeGreaterThan(0);
  },
);
