import { Client, flush, ValidationError } from "millrace";
import { expect, test } from "vitest";
import { loopbackServer } from "../support/loopback-server.ts";
import type { ScriptedResponse } from "../support/loopback-server.ts";

const quiet = { warn: () => undefined };

const respondLater: ScriptedResponse = (response) =>
  setTimeout(() => response.writeHead(202).end("{}"), 150);

test.each([Infinity, 2 ** 31, Number.MAX_VALUE])(
  "a limit of %d ms, which is more than a timer supports, waits for the server",
  async (timeoutMs) => {
    await using server = await loopbackServer({ runs: [respondLater, respondLater] });
    const client = new Client({ endpoint: server.endpoint, logger: quiet });
    client.startRun({ name: "flushed" }).end();
    expect(await client.flush({ timeoutMs })).toMatchObject({ delivered: 2, pending: 0 });
    client.startRun({ name: "closed" }).end();
    expect(await client.close({ timeoutMs })).toMatchObject({ delivered: 2, lost: 0 });
  },
);

test.each([
  [{ timeoutMs: Number.NaN }, "`timeoutMs` must be a number of milliseconds, 0 or more, not NaN"],
  [{ timeoutMs: -1 }, "`timeoutMs` must be a number of milliseconds, 0 or more, not -1"],
  [{ timeoutMs: "500" }, '`timeoutMs` must be a number of milliseconds, 0 or more, not "500"'],
  [500, "the limit must be an object such as { timeoutMs: 500 }, not 500"],
  [null, "the limit must be an object such as { timeoutMs: 500 }, not null"],
  [{ timeout: 5 }, "unknown option `timeout`; did you mean `timeoutMs`?"],
])("the limit %j is rejected, and the client stays open", async (limit, message) => {
  await using server = await loopbackServer();
  const client = new Client({ endpoint: server.endpoint, logger: quiet });
  const wrong = limit as never;
  for (const call of ["flush", "drain", "close", "waitForCapacity"] as const) {
    await expect(client[call](wrong)).rejects.toThrow(`client.${call}: ${message}`);
  }
  await expect(flush(wrong)).rejects.toThrow(`flush: ${message}`);
  await expect(flush(wrong)).rejects.toThrow(ValidationError);
  client.startRun({ name: "recorded" }).end();
  expect(await client.close()).toMatchObject({ delivered: 2, lost: 0 });
});
