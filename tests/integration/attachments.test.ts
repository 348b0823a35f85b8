import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import type { ClientOptions, RunAttachments, RunTree } from "millrace";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { useServer } from "../../server/tests/support/running-server.ts";

/** Everything here is real: the client, worker threads, sockets, the server, and the bytes that are read back. */
let folder = "";
const server = useServer();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-attachments-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

interface LoggingClient {
  readonly client: Client;
  readonly messages: string[];
}

function openClient(options: ClientOptions = {}): LoggingClient {
  const messages: string[] = [];
  const client = new Client({
    endpoint: server.url,
    logger: { warn: (message) => messages.push(message) },
    ...options,
  });
  clients.push(client);
  return { client, messages };
}

/** The stored attachments of a run by name, each with its type and bytes. */
async function readAttachments(
  client: Client,
  run: RunTree,
): Promise<Record<string, [string, Buffer]>> {
  const files = await client.runs.readAttachments(run.id);
  const read = Object.entries(files).map(
    async ([name, file]): Promise<[string, [string, Buffer]]> => {
      return [name, [file.mimeType ?? "", Buffer.from(await client.runs.readAttachment(file))]];
    },
  );
  return Object.fromEntries(await Promise.all(read));
}

/** Every byte value, and sequences that could end a header or a part. */
const bytes = Buffer.concat([
  Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
  Buffer.from("\r\n--millrace-\r\nContent-Disposition: form-data\r\n\r\n"),
]);

describe.each([
  ["through a worker", {}],
  ["inline", { workers: 0 }],
  ["each record on a tape of its own", { tapeBytes: 65_536, batchLimit: 1 }],
] satisfies [string, ClientOptions][])("attachments %s", (_way, options) => {
  test("from start, run and end arrive byte for byte; if a name is used twice, the last one counts", async () => {
    const { client, messages } = openClient(options);
    const original = Buffer.from(bytes);
    const run = client.startRun({
      name: "both",
      inputs: { q: 1 },
      attachments: {
        picture: { mimeType: "image/png", data: original },
        twice: ["text/plain", Buffer.from("first")],
        "späte Notiz 漢字": { mimeType: "text/plain; charset=utf-8", data: "ünï" },
        nothing: { mimeType: "image/gif", data: new Uint8Array(0) },
      },
    });
    run.addAttachment("between", { mimeType: "audio/wav", data: original });
    original.fill(0);
    run.end(
      { a: 1 },
      {
        attachments: {
          twice: ["text/html", Uint8Array.from(Buffer.from("second")).buffer],
          late: {
            mimeType: "application/pdf",
            data: new Uint16Array([1, 2]) as unknown as Uint8Array,
          },
        },
      },
    );
    const alone = client.startRun({ name: "open", attachments: { only: ["image/png", bytes] } });
    expect(await client.flush()).toMatchObject({ pending: 0, lost: 0 });
    const found = await readAttachments(client, run);
    expect(found).toEqual({
      picture: ["image/png", bytes],
      "späte Notiz 漢字": ["text/plain; charset=utf-8", Buffer.from("ünï")],
      nothing: ["image/gif", Buffer.alloc(0)],
      between: ["audio/wav", bytes],
      late: ["application/pdf", Buffer.from([1, 0, 2, 0])],
      twice: ["text/html", Buffer.from("second")],
    });
    expect(await readAttachments(client, alone)).toEqual({ only: ["image/png", bytes] });
    expect(await client.runs.read(run.id)).toMatchObject({ inputs: { q: 1 }, outputs: { a: 1 } });
    expect(client.stats()).toMatchObject({ accepted: 3, delivered: 3, truncated: 0 });
    expect(messages).toEqual([]);
  });
});

test("large binary data in values arrives as an attachment to which the value refers, small data as base64", async () => {
  const { client } = openClient({ attachBytesFrom: 1_000 });
  const large = Buffer.alloc(7_000, "ab");
  const small = Buffer.from("small");
  const run = client.startRun({
    inputs: { deep: [{ large, small }], again: new Float64Array(200) },
  });
  run.end({ large });
  await client.flush();
  const name = (field: string, number: number): string => `millrace_${field}_${number}`;
  expect(await client.runs.read(run.id)).toMatchObject({
    inputs: {
      deep: [
        {
          large: { type: "Buffer", attachment: name("inputs", 1), bytes: 7_000 },
          small: { type: "Buffer", encoding: "base64", data: small.toString("base64") },
        },
      ],
      again: { type: "Float64Array", attachment: name("inputs", 2), bytes: 1_600 },
    },
    outputs: { large: { type: "Buffer", attachment: name("outputs", 1), bytes: 7_000 } },
  });
  expect(await readAttachments(client, run)).toEqual({
    [name("inputs", 1)]: ["application/octet-stream", large],
    [name("inputs", 2)]: ["application/octet-stream", Buffer.alloc(1_600)],
    [name("outputs", 1)]: ["application/octet-stream", large],
  });
});

test("attachments of a killed process are on disk, and the next client sends them with their run", async () => {
  const spoolDir = join(folder, "spool");
  const program = join(import.meta.dirname, "..", "support", "killed-attachments-program.mjs");
  const killed = spawnSync(process.execPath, [program, spoolDir, "http://127.0.0.1:9"], {
    encoding: "utf8",
  });
  expect(killed.signal).toBe("SIGKILL");
  const { client } = openClient({ spoolDir });
  await expect.poll(() => client.stats().delivered, { timeout: 10_000 }).toBe(2);
  const found = await readAttachments(client, { id: killed.stdout } as RunTree);
  const seen = Object.entries(found).map(([name, [, content]]) => [
    name,
    content.length,
    content.every((byte) => byte === content[0]) ? content[0] : undefined,
  ]);
  expect(new Set(seen)).toEqual(
    new Set([
      ["first", 40_000, 1],
      ["second", 10, 2],
      ["third", 20_000, 3],
    ]),
  );
});

test("a file is read and sent by the worker if that is allowed, else replaced by a marker with the reason", async () => {
  const path = join(folder, "talk.wav");
  const content = Buffer.alloc(3_000_000, "wave");
  writeFileSync(path, content);
  const attachments: RunAttachments = {
    talk: { mimeType: "audio/wav", path },
    gone: { mimeType: "audio/wav", path: join(folder, "none.wav") },
    folder: { mimeType: "audio/wav", path: folder },
  };
  const allowed = openClient({ dangerouslyAllowFilesystem: true });
  const run = allowed.client.startRun({ attachments });
  run.end();
  await allowed.client.flush();
  const { talk, ...markers } = await readAttachments(allowed.client, run);
  // A matcher would take half a minute to compare millions of bytes one by one.
  expect([talk?.[0], talk?.[1].equals(content)]).toEqual(["audio/wav", true]);
  expect(markers).toEqual({
    gone: [markerType, Buffer.from("[left out: its file can't be read (ENOENT)]")],
    folder: [markerType, Buffer.from("[left out: its path is not a regular file]")],
  });
  expect(allowed.client.stats()).toMatchObject({ delivered: 2, truncated: 2 });

  const forbidden = openClient();
  const bare = forbidden.client.startRun({ attachments });
  bare.end();
  await forbidden.client.flush();
  const why =
    "[left out: a path requires the option dangerouslyAllowFilesystem: set it, or pass the content as data]";
  expect(await readAttachments(forbidden.client, bare)).toEqual({
    talk: [markerType, Buffer.from(why)],
    gone: [markerType, Buffer.from(why)],
    folder: [markerType, Buffer.from(why)],
  });
  expect(forbidden.client.stats()).toMatchObject({ delivered: 2, truncated: 3 });
});

const markerType = "text/plain; charset=utf-8";

test("an invalid attachment is replaced by a marker, counted and logged; the run and other attachments arrive", async () => {
  const { client, messages } = openClient({ maxAttachmentBytes: 1_024 });
  const ok = { mimeType: "image/png", data: bytes.subarray(0, 100) };
  const hostile: Record<string, unknown> = {
    good: ok,
    "with.dot": 5,
    header: { mimeType: "image/png\r\nX-Evil: 1", data: bytes },
    length: { mimeType: "image/png; length=3", data: bytes },
    number: { mimeType: "image/png", data: 7 },
    blob: { mimeType: "image/png", data: new Blob([bytes]) },
    nothing: undefined,
    large: { mimeType: "image/png", data: new Uint8Array(5_000) },
    get broken() {
      throw new Error("no");
    },
  };
  const run = client.startRun({ attachments: hostile as RunAttachments });
  run.addAttachment("none", null as unknown as RunAttachments[string]);
  run.addAttachment("much", { mimeType: "image/png", data: new Uint8Array(5_000) });
  run.end({ fine: true }, { attachments: 5 as unknown as RunAttachments });
  await client.flush();
  const found = await readAttachments(client, run);
  expect(found["good"]).toEqual(["image/png", ok.data]);
  const { good: _good, ...markers } = found;
  for (const [type, text] of Object.values(markers)) {
    expect(type).toBe(markerType);
    expect(text.toString()).toMatch(/^\[left out: .+\]$/);
  }
  expect(markers["with_dot"]?.[1].toString()).toContain("it is neither");
  expect(markers["large"]?.[1].toString()).toContain("its 5000 bytes exceed the limit of");
  expect(Object.keys(markers)).toHaveLength(10);
  expect(await client.runs.read(run.id)).toMatchObject({ outputs: { fine: true } });
  expect(client.stats()).toMatchObject({ accepted: 2, delivered: 2, truncated: 10 });
  expect(client.stats().warnings).toEqual({ attachmentLeftOut: 10 });
  expect(messages.join("\n")).toContain("Attachment");
});

test("an attachment whose name is not valid is sent under a similar name of its own, with a warning", async () => {
  const { client, messages } = openClient();
  const names = [
    "photo.png",
    "photo_png",
    'photo"png',
    "",
    "line\r\nX-Evil: 1",
    "long".repeat(40),
    "\ud800",
  ];
  const attachments = Object.fromEntries(
    names.map((name, index) => [
      name,
      { mimeType: "image/png", data: bytes.subarray(0, index + 1) },
    ]),
  );
  const run = client.startRun({ attachments });
  run.end();
  await client.flush();
  const found = await readAttachments(client, run);
  expect(
    Object.fromEntries(Object.entries(found).map(([name, [, data]]) => [name, data.length])),
  ).toEqual({
    photo_png_2: 1,
    photo_png: 2,
    photo_png_3: 3,
    unnamed: 4,
    "line__X-Evil: 1": 5,
    ["long".repeat(32)]: 6,
    "\ufffd": 7,
  });
  expect(client.stats()).toMatchObject({ truncated: 0, warnings: { attachmentRenamed: 6 } });
  expect(messages.join("\n")).toMatch(/Attachment "\S+" is sent as "\S+": a name must have/);
});
