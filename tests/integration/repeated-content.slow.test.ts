import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, RunTree } from "millrace";
import type { ClientOptions } from "millrace";
import { expect, onTestFinished, test, vi } from "vitest";
import { runOwnServer, runServer } from "../../server/tests/support/running-server.ts";
import { loopbackServer } from "../support/loopback-server.ts";
import { startRelay } from "../support/relay.ts";
import type { Relay } from "../support/relay.ts";

// Each turn is a round trip, possibly on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const chunksContentType = "application/vnd.millrace.pieces";
function folder(): string {
  const created = mkdtempSync(join(tmpdir(), "millrace-repeated-"));
  onTestFinished(() => rmSync(created, { recursive: true, force: true }));
  return created;
}

function clientTo(endpoint: string, options: ClientOptions = {}): Client {
  const client = new Client({
    endpoint,
    contentDeduplication: "once",
    firstDelayMs: 0,
    aggregationDelayMs: 0,
    projectName: "p",
    logger: { warn: () => undefined },
    ...options,
  });
  onTestFinished(async () => void (await client.close({ timeoutMs: 0 })));
  return client;
}

/** A client that has already received the server's `/info`. */
async function readyClient(relay: Relay, options: ClientOptions = {}): Promise<Client> {
  const client = clientTo(relay.url, options);
  client.startRun({ name: "first", projectName: "other" }).end();
  await vi.waitFor(
    async () => {
      client.startRun({ name: "again", projectName: "other" }).end();
      await client.flush();
      expect(client.stats().server).toMatchObject({ contentDeduplication: true });
    },
    { timeout: 10_000 },
  );
  relay.bodies.length = 0;
  return client;
}

const message = (turn: number) => ({
  role: turn % 2 === 0 ? "user" : "assistant",
  content: `turn ${turn}: ${"what was said ".repeat(20)}`,
});
const inputsOf = (turn: number) => ({ messages: upTo(turn).map(message), model: "m" });

interface Turns {
  readonly turns: readonly number[];
  readonly projectName?: string;
}

/** Records one run per turn, and sends each before the next begins. */
async function recordTurns(
  client: Client,
  parent: RunTree,
  { turns, projectName }: Turns,
): Promise<void> {
  for (const turn of turns) {
    const name = `turn ${turn}`;
    const run = client.startRun({ parent, name, inputs: inputsOf(turn), projectName });
    run.end({ message: message(turn) });
    await client.flush();
  }
}

/** The names of the turns that the server has. Fails if one differs from what was recorded. */
async function turnsAt(url: string, project = "p"): Promise<readonly string[]> {
  const reader = new Client({ endpoint: url, enabled: false });
  onTestFinished(async () => void (await reader.close()));
  const found = new Map<number, object>();
  for await (const { name, inputs, outputs } of reader.runs.list({ projectNames: [project] })) {
    if (name.startsWith("turn ")) {
      found.set(Number(name.slice(5)), { inputs, outputs });
    }
  }
  const turns = [...found.keys()].toSorted((a, b) => a - b);
  for (const turn of turns) {
    expect(found.get(turn)).toEqual({
      inputs: inputsOf(turn),
      outputs: { message: message(turn) },
    });
  }
  return namesOf(turns);
}

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, each) => each);
const namesOf = (turns: readonly number[]): readonly string[] =>
  turns.map((turn) => `turn ${turn}`);
const totalBytes = ({ bodies }: Relay): number =>
  bodies.reduce((sum, { length }) => sum + length, 0);

test.each([1, 2, 0])(
  "a conversation is sent once and read back whole, with %i workers",
  async (workers) => {
    const server = await runServer();
    const relay = await startRelay(server.url);
    const client = await readyClient(relay, { workers });
    await recordTurns(client, client.startRun({ name: "root" }), { turns: upTo(40) });
    expect(await turnsAt(server.url)).toEqual(namesOf(upTo(40)));
    expect(client.stats()).toMatchObject({ rejected: 0, dropped: 0, lost: { rejected: 0 } });
    // Without deduplication: 40 turns of 20 messages on average.
    expect(totalBytes(relay)).toBeLessThan((40 * 20 * 310) / 2);
  },
);

test("values that look like markers of the format are read back as recorded", async () => {
  const server = await runServer();
  const relay = await startRelay(server.url);
  const client = await readyClient(relay);
  const long = '水車 \ud800 \u0000 "quoted" 🌊 '.repeat(20);
  const inputs = {
    $ref: "0123456789abcdef",
    "millrace.pieces": { same: long },
    again: [long, long, { long }, { long, b: 1, a: 2 }, { a: 2, b: 1, long }],
    numbers: [1e300, 5e-324, 12_345_678_901_234_567n, -0.5],
    "": { __proto__: null, constructor: long },
    small: [[], {}, [[]], null, "", " "],
    binary: [{ role: "user", content: Buffer.alloc(400, 7) }, { long }],
  };
  const root = client.startRun({ name: "root", inputs });
  for (let copy = 0; copy < 3; copy++) {
    client.startRun({ parent: root, name: "copy", inputs }).end({ inputs });
    await client.flush();
  }
  root.end();
  await client.flush();
  const inline = clientTo(server.url, { contentDeduplication: "inline", projectName: "inline" });
  inline.startRun({ name: "copy", inputs }).end({ inputs });
  await inline.flush();
  const valuesIn = async (projectName: string): Promise<readonly unknown[]> => {
    const values: unknown[] = [];
    for await (const run of inline.runs.list({ projectNames: [projectName] })) {
      values.push(...(run.name === "copy" ? [[run.inputs, run.outputs]] : []));
    }
    return values;
  };
  const [expected] = await valuesIn("inline");
  expect(expected).toBeDefined();
  expect(await valuesIn("p")).toEqual([expected, expected, expected]);
});

test("binary data that repeats is an attachment of each run", async () => {
  const server = await runServer();
  const relay = await startRelay(server.url);
  const client = await readyClient(relay, { attachBytesFrom: 100 });
  const root = client.startRun({ name: "root" });
  const ids: string[] = [];
  for (const _turn of upTo(3)) {
    const messages = [message(0), { content: Buffer.alloc(400, 7) }, message(1), message(2)];
    const run = client.startRun({ parent: root, name: "look", inputs: { messages } });
    ids.push(run.id);
    run.end();
    await client.flush();
  }
  const sent = Buffer.concat(relay.bodies);
  expect(ids.filter((id) => sent.includes(`"attachment.${id}.`))).toEqual(ids);
});

test("nothing is lost when a server restarts and loses its remembered content", async () => {
  const dataDir = folder();
  const first = await runOwnServer({ dataDir });
  const relay = await startRelay(first.url);
  const client = await readyClient(relay);
  const root = client.startRun({ name: "root" });
  await recordTurns(client, root, { turns: upTo(10) });
  await first.close();
  const second = await runOwnServer({ dataDir });
  relay.target = second.url;
  await recordTurns(client, root, { turns: [10, 11, 12] });
  expect(await turnsAt(second.url)).toEqual(namesOf(upTo(13)));
  expect(client.stats()).toMatchObject({ rejected: 0, dropped: 0, pending: 0 });
  // Content that was sent again after the refusal is deduplicated again.
  expect(relay.bodies.at(-1)?.length).toBeLessThan(3_000);
});

test("requests that are refused for a while, lost on the way back or too large lose nothing", async () => {
  const server = await runServer();
  const relay = await startRelay(server.url);
  const client = await readyClient(relay, { attempts: 4 });
  const root = client.startRun({ name: "root" });
  await client.flush();
  for (const [at, passage] of (["lose the response", 503, 413] as const).entries()) {
    relay.actions.push(passage);
    await recordTurns(client, root, { turns: [3 * at, 3 * at + 1, 3 * at + 2] });
  }
  expect(await turnsAt(server.url)).toEqual(namesOf(upTo(9)));
  expect(client.stats()).toMatchObject({ rejected: 0, dropped: 0, pending: 0 });
});

test("two clients on one trace each send the content that they have not sent before", async () => {
  const server = await runServer();
  const relay = await startRelay(server.url);
  const [one, other] = [await readyClient(relay), await readyClient(relay)];
  const root = one.startRun({ name: "root" });
  const remote = RunTree.fromHeaders(root.toHeaders(), { client: other });
  for (const turn of upTo(10)) {
    const isOdd = turn % 2 === 1;
    await recordTurns(isOdd ? other : one, isOdd ? remote! : root, { turns: [turn] });
  }
  expect(await turnsAt(server.url)).toEqual(namesOf(upTo(10)));
  expect(one.stats().rejected + other.stats().rejected).toBe(0);
});

test("runs stay complete when the runs that first sent their content are deleted", async () => {
  const server = await runServer();
  const relay = await startRelay(server.url);
  const client = await readyClient(relay);
  const root = client.startRun({ name: "root", projectName: "gone" });
  await recordTurns(client, root, { turns: upTo(5), projectName: "gone" });
  await recordTurns(client, root, { turns: [5, 6], projectName: "kept" });
  await client.projects.delete({ projectName: "gone" });
  expect(await turnsAt(server.url, "kept")).toEqual(["turn 5", "turn 6"]);
  await recordTurns(client, root, { turns: [7], projectName: "kept" });
  expect(await turnsAt(server.url, "kept")).toEqual(["turn 5", "turn 6", "turn 7"]);
});

test("the spool contains complete runs, and the next client's replay arrives", async () => {
  const server = await runServer();
  const relay = await startRelay(server.url);
  const spoolDir = folder();
  const first = await readyClient(relay, { spoolDir, attempts: 1 });
  const root = first.startRun({ name: "root" });
  await recordTurns(first, root, { turns: upTo(4) });
  relay.actions.push(...Array.from({ length: 50 }, () => 503 as const));
  for (const turn of [4, 5]) {
    const run = first.startRun({ parent: root, name: `turn ${turn}`, inputs: inputsOf(turn) });
    run.end({ message: message(turn) });
  }
  await first.close({ timeoutMs: 200 });
  expect(first.stats().spooled).toBeGreaterThan(0);
  const files = readdirSync(spoolDir, { recursive: true, withFileTypes: true });
  const onDisk = files
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name), "latin1"))
    .join("");
  expect(onDisk).toContain(message(0).content);
  relay.actions.length = 0;
  const second = clientTo(relay.url, { spoolDir });
  await vi.waitFor(() => expect(second.stats().delivered).toBeGreaterThan(0), { timeout: 10_000 });
  await vi.waitFor(async () => expect(await turnsAt(server.url)).toEqual(namesOf(upTo(6))), {
    timeout: 10_000,
  });
});

const infoOf = (flag: boolean) => ({
  body: JSON.stringify({ instance_flags: flag ? { millrace_repeated_content: true } : {} }),
});

async function talkTo(endpoint: string, options: ClientOptions): Promise<Client> {
  const client = clientTo(endpoint, options);
  const root = client.startRun({ name: "root" });
  await recordTurns(client, root, { turns: upTo(6) });
  return client;
}

test.each([
  ["a server that does not offer it", false, "once"],
  ["a client without the option", true, "inline"],
] as const)("no payload is sent as chunks: %s", async (_title, flag, contentDeduplication) => {
  await using server = await loopbackServer({ info: infoOf(flag) });
  await talkTo(server.endpoint, { contentDeduplication });
  const sent = Buffer.concat(server.runRequests.map(({ body }) => body)).toString("latin1");
  expect(sent).toContain(message(4).content);
  expect(sent).not.toContain(chunksContentType);
});

test.each([400, 415, 422])(
  "a server that announces support and returns %i gets complete runs",
  async (status) => {
    await using server = await loopbackServer({
      info: infoOf(true),
      runs: [
        (response, { body }) => {
          response.writeHead(body.includes(chunksContentType) ? status : 202).end("{}");
        },
      ],
    });
    const client = await talkTo(server.endpoint, {});
    const isNamed = ({ body }: { readonly body: Buffer }): boolean =>
      body.includes(chunksContentType);
    expect(server.runRequests.some(isNamed)).toBe(true);
    expect(client.stats()).toMatchObject({ rejected: 0, pending: 0, dropped: 0 });
    expect(client.stats().delivered).toBe(client.stats().accepted);
  },
);
