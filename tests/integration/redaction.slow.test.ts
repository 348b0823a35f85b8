import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, OptionError, traceable } from "millrace";
import type { ClientOptions, KeyValues, RedactionRule } from "millrace";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { loopbackServer } from "../support/loopback-server.ts";
import { runProgram } from "../support/run-program.ts";

const mail = "ada.lovelace@example.org";
const unreachable = "http://127.0.0.1:9";
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-redaction-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const clientTo = (endpoint: string, options: ClientOptions = {}): Client =>
  new Client({ endpoint, redact: ["emails"], logger: { warn: () => undefined }, ...options });

/** The content of all files in the folder, as text. */
function filesText(): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  return files
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name), "latin1"))
    .join("");
}

function record(client: Client, count = 1): void {
  for (let run = 0; run < count; run++) {
    const parent = client.startRun({ name: `ask ${mail}`, inputs: { mail }, tags: [mail] });
    parent.addMetadata({ user: mail });
    parent.end({ outputs: { answer: `mailed to ${mail}` }, error: `no such box: ${mail}` });
  }
}

test.each([1, 0])(
  "no request contains text that a rule matches, with %i workers",
  async (workers) => {
    await using server = await loopbackServer();
    const client = clientTo(server.endpoint, { workers });
    record(client, 20);
    await client.flush();
    const sent = server.runRequests.map(({ body }) => body.toString("latin1")).join("");
    expect(sent).toContain(`"mail":"[email]${"*".repeat(mail.length - 7)}"`);
    expect(sent).not.toContain(mail);
    expect(client.stats()).toMatchObject({ delivered: 40, redacted: 20 * 7 });
    await client.close();
  },
);

test("records that are written before they are sent are masked on disk", async () => {
  const client = clientTo(unreachable, { spoolDir: folder, durability: "spool-first" });
  record(client, 3);
  const onDisk = filesText();
  expect(onDisk).toContain("[email]***");
  expect(onDisk).not.toContain(mail);
  await client.close({ timeoutMs: 0 });
  expect(filesText()).not.toContain(mail);
});

test("records that overflow to disk are masked there, and arrive masked", async () => {
  const offlineClient = clientTo(unreachable, {
    spoolDir: folder,
    overflow: "spool",
    maxQueueBytes: 65_536,
    tapeBytes: 16_384,
  });
  record(offlineClient, 2_000);
  expect(offlineClient.stats().spooled).toBeGreaterThan(0);
  await offlineClient.close({ timeoutMs: 0 });
  expect(filesText()).toContain("[email]***");
  expect(filesText()).not.toContain(mail);
  await using server = await loopbackServer();
  const next = clientTo(server.endpoint, { spoolDir: folder, redact: [] });
  await vi.waitFor(
    () => expect(next.stats()).toMatchObject({ accepted: 4_000, delivered: 4_000 }),
    {
      timeout: 12_000,
    },
  );
  await next.close();
  expect(server.runRequests.map(({ body }) => body.toString("latin1")).join("")).not.toContain(
    mail,
  );
});

test("records that the server refuses are masked in the dead letters", async () => {
  await using server = await loopbackServer({ runs: [{ status: 422, body: "{}" }] });
  const client = clientTo(server.endpoint, { spoolDir: folder });
  record(client);
  await client.flush();
  await client.close();
  expect(filesText()).toContain("[email]***");
  expect(filesText()).not.toContain(mail);
});

test("records left by process.exit() are masked on disk", async () => {
  const { code } = await runProgram(
    `const client = new Client({ endpoint: ${JSON.stringify(unreachable)}, spoolDir: ${JSON.stringify(folder)},
       redact: ["emails"], exitTimeoutMs: 100, logger: { warn() {} } });
     client.startRun({ name: "ask", inputs: { mail: ${JSON.stringify(mail)} } }).end();
     process.exit(3);`,
  );
  expect(code).toBe(3);
  expect(filesText()).toContain("[email]***");
  expect(filesText()).not.toContain(mail);
});

test("a rule that hangs costs one worker: its run arrives with everything masked", async () => {
  await using server = await loopbackServer();
  const client = clientTo(server.endpoint, {
    redact: [{ name: "endless", pattern: /^(?:a+)+$/ }],
    workerStallMs: 500,
  });
  client.startRun({ name: "bad", inputs: { text: `${"a".repeat(60)}!` } }).end({ fine: true });
  client.startRun({ name: "good", inputs: { text: "short" } }).end({ fine: true });
  await vi.waitFor(() => expect(client.stats().delivered).toBe(4), { timeout: 30_000 });
  const sent = server.runRequests.map(({ body }) => body.toString("latin1")).join("");
  expect(sent).not.toContain("aaaaaaaaaa");
  expect(sent).toContain('{"text":"short"}');
  expect(client.stats().warnings).toMatchObject({ workerStuck: 1, redactionFailure: 1 });
  await client.close();
}, 40_000);

test("the variable enables predefined rules", async () => {
  await using server = await loopbackServer();
  const { code, output } = await runProgram(
    `const client = new Client();
     client.startRun({ name: "ask", inputs: { mail: ${JSON.stringify(mail)}, card: "4111111111111111" } }).end();
     await client.flush();`,
    { env: { MILLRACE_ENDPOINT: server.endpoint, MILLRACE_REDACT: "emails, cards" } },
  );
  expect({ code, output }).toEqual({ code: 0, output: "" });
  const sent = server.runRequests.map(({ body }) => body.toString("latin1")).join("");
  expect(sent).toContain('"card":"[card]**********"');
  expect(sent).not.toContain(mail);
});

test.each([
  ["an unknown set", ["passwords"]],
  ["no array", "secrets"],
  ["a pattern that is a text", [{ name: "x", pattern: "a+" }]],
  ["a name that could not stand in a mask", [{ name: "müll", pattern: /a/ }]],
  ["an empty key", [{ name: "x", keys: [""] }]],
])("rules are checked when the client is made: %s", (_what, redact) => {
  expect(() => clientTo(unreachable, { redact: redact as readonly RedactionRule[] })).toThrow(
    new OptionError(
      "Option redact must be an array of secrets, emails, cards, { name, pattern } or { name, keys }; a name is up to 24 letters, digits, - or _" +
        (typeof redact === "string" ? ', not "secrets"' : ", not a value of type object"),
    ),
  );
});

const hidingOptions: readonly (readonly [string, ClientOptions])[] = [
  ["true", { hideOutputs: true }],
  ["a function", { hideOutputs: () => ({ shown: true }) }],
  [
    "a function that throws",
    {
      hideOutputs: () => {
        throw new Error("fails");
      },
    },
  ],
];

test.each(hidingOptions)(
  "tokens of a stream are not sent if outputs are hidden: %s",
  async (_, options) => {
    await using server = await loopbackServer();
    const client = clientTo(server.endpoint, options);
    const stream = traceable(
      async function* () {
        yield "SECRET-1";
      },
      { client, name: "stream", recordTokens: true },
    );
    for await (const token of stream()) {
      expect(token).toBe("SECRET-1");
    }
    const run = client.startRun({ name: "own" });
    run.addEvent({ name: "new_token", kwargs: { token: "mine" } });
    run.end();
    await client.flush();
    await client.close();
    const sent = server.runRequests.map(({ body }) => body.toString()).join("");
    expect(sent).toContain('"name":"new_token"');
    expect(sent).toContain('"token":"mine"');
    expect(sent).not.toContain("SECRET-1");
  },
);

test("tokens that another library records are not sent if outputs are hidden", async () => {
  await using server = await loopbackServer();
  const client = clientTo(server.endpoint, { hideOutputs: true });
  const run = client.startRun({ name: "model" });
  await client.updateRun(run.id, {
    dotted_order: run.dottedOrder,
    trace_id: run.traceId,
    outputs: { text: "SECRET-1" },
    events: [
      { name: "new_token", time: "2026-01-02T03:04:05Z", kwargs: { token: "SECRET-1" } },
      { name: "retry", kwargs: { attempt: 2 } },
    ],
  });
  await client.flush();
  await client.close();
  const sent = server.runRequests.map(({ body }) => body.toString()).join("");
  expect(sent).toContain('{"name":"new_token","time":"2026-01-02T03:04:05Z"}');
  expect(sent).toContain('{"name":"retry","kwargs":{"attempt":2}}');
  expect(sent).not.toContain("SECRET-1");
});

/** The entries of the header `baggage` of a run with this metadata and these tags, decoded. */
function baggageOf(
  options: ClientOptions,
  fields: { readonly metadata?: KeyValues; readonly tags?: readonly string[] },
): { readonly entries: Record<string, string>; readonly warnings: Record<string, number> } {
  const client = clientTo(unreachable, { redact: [], ...options });
  const run = client.startRun({ projectName: "mill", threadId: "chat-7", ...fields });
  const header = run.toHeaders()["baggage"] ?? "";
  const entries = header.split(",").map((entry) => entry.split("=") as [string, string]);
  const { warnings } = client.stats();
  void client.close({ timeoutMs: 0 });
  return {
    entries: Object.fromEntries(
      entries.map(([key, value]) => [key.replace("langsmith-", ""), decodeURIComponent(value)]),
    ),
    warnings: { ...warnings },
  };
}

test("headers carry no metadata if they are hidden, and what a function returns if one filters", () => {
  const fields = { metadata: { secret: "SECRET-1" }, tags: ["t"] };
  const project = { project: "mill", tags: "t" };
  expect(baggageOf({}, fields).entries).toEqual({
    ...project,
    metadata: '{"thread_id":"chat-7","secret":"SECRET-1"}',
  });
  expect(baggageOf({ hideMetadata: true }, fields).entries).toEqual(project);
  const hideMetadata = ({ secret: _, ...others }: KeyValues): KeyValues => others;
  expect(baggageOf({ hideMetadata }, fields).entries).toEqual({
    ...project,
    metadata: '{"thread_id":"chat-7"}',
  });
});

test("headers carry no metadata if the function that filters them throws", () => {
  const hideMetadata = (): KeyValues => {
    throw new Error("fails");
  };
  const { entries, warnings } = baggageOf({ hideMetadata }, { metadata: { secret: "SECRET-1" } });
  expect(entries).toEqual({ project: "mill" });
  expect(warnings["hiddenFailure"]).toBeGreaterThan(0);
});

test("the rules mask the tags and metadata in headers", () => {
  const options = { redact: ["emails", { name: "k", keys: ["street"] }] as const };
  const fields = { metadata: { user: mail, street: "Mill Lane", count: 2 }, tags: [mail, "t"] };
  const masked = `[email]${"*".repeat(mail.length - 7)}`;
  expect(baggageOf(options, fields).entries).toEqual({
    project: "mill",
    tags: `${masked},t`,
    metadata: `{"thread_id":"chat-7","user":"${masked}","street":"[k]******","count":2}`,
  });
});

test("headers carry neither tags nor metadata if the rules are unknown", () => {
  vi.stubEnv("MILLRACE_REDACT", "nonsense");
  try {
    const { entries } = baggageOf({ redact: undefined }, { metadata: { a: "x" }, tags: ["x"] });
    expect(entries).toEqual({ project: "mill" });
  } finally {
    vi.unstubAllEnvs();
  }
});
