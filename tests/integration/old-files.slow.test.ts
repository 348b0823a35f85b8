import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { Client } from "millrace";
import { inspectSpool, replaySpool } from "millrace/spool";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startStatusServer } from "../support/status-server.ts";

interface Contents {
  readonly keys: { readonly local: string; readonly other: string };
  readonly feedbackToken: string;
  readonly spooled: readonly string[];
  readonly refused: readonly string[];
  readonly answers: readonly {
    readonly key: "local" | "other";
    readonly target: string;
    readonly body?: unknown;
    readonly answer: unknown;
  }[];
}

const fixture = join(import.meta.dirname, "../fixtures/format-8");
const contents = JSON.parse(readFileSync(join(fixture, "contents.json"), "utf8")) as Contents;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-old-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Fields that differ between two responses: signed addresses expire, and views are counted. */
const variableFields = new Set([
  "s3_url",
  "presigned_url",
  "num_views",
  "num_downloads",
  "updated_at",
]);
const lasting = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (name, member: unknown) =>
      variableFields.has(name) ? undefined : member,
    ),
  );

describe("a database of format 8 and its log", () => {
  let server: RunningServer;

  beforeEach(async () => {
    const data = join(folder, "data");
    mkdirSync(data);
    for (const name of ["millrace.db", "millrace.db-wal"]) {
      writeFileSync(join(data, name), gunzipSync(readFileSync(join(fixture, `${name}.gz`))));
    }
    server = await startServer({ port: 0, dataDir: data });
  });
  afterEach(() => server.close());

  test("return the same data as before, also after a restart", async () => {
    for (const _start of ["first", "second"]) {
      for (const { key, target, body, answer } of contents.answers) {
        const [method = "", path = ""] = target.split(" ");
        const response = await fetch(server.url + path, {
          method,
          headers: { "x-api-key": contents.keys[key] },
          body: body === undefined ? null : JSON.stringify(body),
        });
        const found = { target, status: response.status, answer: await response.json() };
        expect(lasting(found)).toMatchObject({
          target,
          status: 200,
          answer: lasting(answer) as object,
        });
      }
      await server.close();
      server = await startServer({ port: 0, dataDir: join(folder, "data") });
    }
  });

  test("contain their attachments, tags and tokens", async () => {
    const client = new Client({ endpoint: server.url, apiKey: contents.keys.local });
    expect(await bytesOf(server, "notes")).toEqual(Buffer.from("attached to a run"));
    expect(await bytesOf(server, "large")).toEqual(Buffer.alloc(70_000, 7));
    const version = await client.datasets.readVersion({ datasetName: "questions", tag: "first" });
    const before = await client.examples
      .list({ datasetName: "questions", asOf: version.asOf })
      .toArray();
    expect(before).toHaveLength(8);
    const { pathname } = new URL(contents.feedbackToken);
    const feedbackResponse = await fetch(`${server.url}${pathname}?score=0.5`);
    expect(feedbackResponse.status).toBe(200);
    await client.close();
  });

  test("contain no token in clear text in any file, and its address is still shown", async () => {
    const data = join(folder, "data");
    const token = new URL(contents.feedbackToken).pathname.replace(/.*\//, "");
    const filesWithToken = (): string[] =>
      readdirSync(data).filter((name) => readFileSync(join(data, name)).includes(token));
    expect(gunzipSync(readFileSync(join(fixture, "millrace.db-wal.gz"))).includes(token)).toBe(
      true,
    );
    expect(filesWithToken()).toEqual([]);
    const headers = { "x-api-key": contents.keys.local };
    // The token was created for the fifth run (make.mjs).
    const runId = contents.answers[4]?.target.slice("GET /runs/".length) ?? "";
    const listed = await fetch(`${server.url}/feedback/tokens?run_id=${runId}`, { headers });
    expect(await listed.json()).toMatchObject([
      { url: `${server.url}/feedback/tokens/${token}`, feedback_key: "correct" },
    ]);
    await server.close();
    expect(filesWithToken()).toEqual([]);
  });

  test("accept new data", async () => {
    const client = new Client({ endpoint: server.url, apiKey: contents.keys.local });
    const run = client.startRun({ name: "new", inputs: { text: "now" } });
    run.end({ done: true });
    await client.flush();
    expect(await client.runs.read(run.id)).toMatchObject({ outputs: { done: true } });
    await client.close();
  });
});

interface Attached {
  readonly s3_urls?: Readonly<Record<string, { readonly s3_url: string }>>;
}

/** An attachment of the only run that has attachments. */
async function bytesOf(server: RunningServer, name: string): Promise<Buffer> {
  const found = contents.answers.find(({ answer }) =>
    JSON.stringify(answer).includes("attachment.notes"),
  );
  const headers = { "x-api-key": contents.keys.local };
  const response = await fetch(`${server.url}${found?.target.slice("GET ".length)}`, { headers });
  const { s3_urls } = (await response.json()) as Attached;
  const file = await fetch(s3_urls?.[`attachment.${name}`]?.s3_url ?? "", { headers });
  expect(file.status).toBe(200);
  return Buffer.from(await file.arrayBuffer());
}

describe("a spool of that time", () => {
  test("is completely sent by the next client", async () => {
    const spoolDir = join(folder, "spool");
    cpSync(join(fixture, "spool"), spoolDir, { recursive: true });
    const files = await inspectSpool(spoolDir);
    expect(files.map(({ state }) => state).toSorted()).toEqual(["dead", "waiting"]);
    expect(files.flatMap(({ faults }) => faults)).toEqual([]);
    expect(files.find(({ state }) => state === "dead")?.notes[0]?.refused).toMatchObject([
      { runId: contents.refused[0], status: 422 },
    ]);
    const server = await startStatusServer(202);
    await replaySpool({ spoolDir, endpoint: server.url, limitMs: 10_000 });
    expect(server.ended).toEqual(new Set([...contents.spooled, ...contents.refused]));
  });
});

describe("a checkpoint of that time", () => {
  test("lets the upload continue after the rows that are done", async () => {
    const server = await startServer({ port: 0, dataDir: ":memory:" });
    const client = new Client({ endpoint: server.url });
    const checkpoint = join(folder, "checkpoint.json");
    cpSync(join(fixture, "upload.checkpoint.json"), checkpoint);
    const { target } = JSON.parse(readFileSync(checkpoint, "utf8")) as { target: string };
    const id = target.slice("examples of dataset ".length);
    await client.datasets.create({ id, name: "uploaded" });
    const rows = Array.from({ length: 300 }, (_, i) => ({
      inputs: { question: `What is ${i}?` },
      outputs: { answer: i },
      metadata: { index: i },
    }));
    const result = await client.examples.upload(rows, { datasetName: "uploaded", checkpoint });
    expect(result).toMatchObject({ read: 300, firstRow: 221, skipped: 220, created: 80 });
    await client.close();
    await server.close();
  });
});
