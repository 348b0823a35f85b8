import { Client, onFlush } from "millrace";
import type { FlushEvent, RunTree } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";

async function openClient(): Promise<Client> {
  const server = await runServer();
  const client = new Client({ endpoint: server.url });
  onTestFinished(() => client.close().then(() => undefined));
  return client;
}

/** Adds a listener until the test ends. */
const listen = (listener: (event: FlushEvent) => void): void => {
  onTestFinished(onFlush(listener));
};

test("what a listener records is part of the flush that called it", async () => {
  const client = await openClient();
  const run: RunTree = client.startRun({ name: "open" });
  listen((event) => {
    if (event.client === client) {
      run.end({ text: "partial" });
    }
  });
  await client.flush();
  expect(await client.runs.read(run.id)).toMatchObject({ outputs: { text: "partial" } });
});

test("a drain and a close are final, a flush is not", async () => {
  const client = await openClient();
  const finals: boolean[] = [];
  listen((event) => {
    finals.push(event.isFinal);
  });
  await client.flush();
  await client.drain();
  await client.close();
  expect(finals).toEqual([false, true, true]);
});

test("a listener that throws is a warning, and the others are called", async () => {
  const client = await openClient();
  let called = 0;
  listen(() => {
    throw new Error("broken");
  });
  const remove = onFlush(() => {
    called += 1;
  });
  await client.flush();
  remove();
  await client.flush();
  expect(called).toBe(1);
  expect(client.stats().warnings).toMatchObject({ hiddenFailure: 2 });
});
