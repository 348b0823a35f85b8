import { Client } from "millrace";

// The assertions are about the process that runs jest, so they are in the test that starts it.
test("runs are delivered from a test, and nothing is left open", async () => {
  const client = new Client({ endpoint: process.env.ENDPOINT });
  client.startRun({ name: "jest" }).end({ ok: true });
  expect(await client.flush({ timeoutMs: 10_000 })).toMatchObject({
    delivered: 2,
    lost: 0,
    pending: 0,
  });
});
