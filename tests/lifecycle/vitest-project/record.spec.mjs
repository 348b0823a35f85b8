import { Client } from "millrace";
import { afterEach, expect, test, vi } from "vitest";

afterEach(() => vi.useRealTimers());

test("runs are delivered from a test whose client is left open", async () => {
  const client = new Client({ endpoint: process.env.ENDPOINT });
  client.startRun({ name: "left open" }).end({});
  expect(await client.flush()).toMatchObject({ delivered: 2, lost: 0, pending: 0 });
});

test("with faked timers a flush settles", async () => {
  vi.useFakeTimers();
  const client = new Client({ endpoint: process.env.ENDPOINT });
  client.startRun({ name: "faked" }).end({});
  expect(await client.flush()).toMatchObject({ delivered: 2, lost: 0, pending: 0 });
  await client.close();
});
