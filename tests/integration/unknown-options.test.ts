import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { Client, RunTree, setDefaultClient, traceable } from "millrace";
import { afterEach, expect, test } from "vitest";

const lines: string[] = [];
const clients: Client[] = [];

/** A client whose server does not exist: these tests check which options it accepts, not what arrives. */
function createClient(): Client {
  const client = new Client({
    endpoint: "http://127.0.0.1:9",
    logger: { warn: (message) => lines.push(message) },
  });
  clients.push(client);
  return client;
}

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close({ timeoutMs: 0 })));
  lines.length = 0;
});

test("an unknown option causes one warning per name, and the run is recorded", async () => {
  const client = createClient();
  const misspelt: Record<string, unknown> = { run_type: "llm", project: "p" };
  for (let i = 0; i < 3; i++) {
    client.startRun({ name: "a", ...misspelt }).end({}, { end_time: 1 } as object);
    client.startRun().startChild({ parent_run: 1 } as object);
    traceable(() => 1, { client, processInput: () => ({}) } as object)();
  }
  await setImmediate();
  expect(lines).toEqual([
    "[millrace] unknown option `run_type`; did you mean `runType`?",
    "[millrace] unknown option `project`; did you mean `projectName`?",
    "[millrace] unknown option `end_time`; did you mean `endTime`?",
    expect.stringMatching(/unknown option `parent_run`; /),
    "[millrace] unknown option `processInput`; did you mean `processInputs`?",
  ]);
  expect(client.stats()).toMatchObject({ accepted: 18, warnings: { unknownOption: 5 } });
});

test("an unknown key of an attachment causes one warning, and the attachment is recorded", async () => {
  const client = createClient();
  const photo = { mimeType: "image/png", data: new Uint8Array(1), file_name: "photo.png" };
  for (let i = 0; i < 2; i++) {
    const run = client.startRun({ name: "a", attachments: { photo } });
    run.addAttachment("again", photo);
    run.end();
  }
  await setImmediate();
  expect(lines).toEqual(["[millrace] unknown option `file_name`; known: mimeType, data, path"]);
  expect(client.stats()).toMatchObject({ accepted: 4, warnings: { unknownOption: 1 } });
});

test("known options cause no warning", async () => {
  const client = createClient();
  const root = client.startRun({ name: "a", runType: "llm", inputs: {}, tags: [], metadata: {} });
  client.startRun({ parent: root, projectName: "p", startTime: 1 }).end({}, { endTime: 2 });
  traceable(() => 1, { client, name: "t", recordTokens: true })();
  await setImmediate();
  expect(lines).toEqual([]);
});

test("new RunTree({ name }) is a run of the default client, and a child of the current run", () => {
  const client = createClient();
  setDefaultClient(client);
  const run = new RunTree({ name: "by hand", runType: "tool" });
  expect(run).toBeInstanceOf(RunTree);
  expect(client.startRun()).toBeInstanceOf(RunTree);
  expect(run).toMatchObject({ name: "by hand", runType: "tool", client });
  const below = new RunTree({ name: "below", parent: run });
  expect(below.traceId).toBe(run.traceId);
  below.end();
  run.end();
  expect(client.stats().accepted).toBe(5);
});

test("without a client new RunTree() and fromHeaders record nothing, and do not throw", () => {
  const run = new RunTree({ name: "nobody's" });
  run.startChild({ name: "child" }).end();
  run.end();
  const remote = RunTree.fromHeaders(run.toHeaders());
  expect(remote?.id).toBe(run.id);
  expect(run.sampled).toBe(false);
});

test("fromHeaders needs only headers, of any type", () => {
  const client = createClient();
  const run = client.startRun({ name: "sender" });
  const sent = run.toHeaders();
  const incoming = new IncomingMessage(new Socket());
  Object.assign(incoming.headers, sent);
  for (const headers of [
    new Headers(sent),
    sent,
    incoming.headers,
    new Map(Object.entries(sent)),
  ]) {
    const remote = RunTree.fromHeaders(headers);
    expect(remote).toMatchObject({ id: run.id, traceId: run.traceId, client });
  }
  expect(RunTree.fromHeaders({})).toBeUndefined();
});
