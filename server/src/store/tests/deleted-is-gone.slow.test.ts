import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../../dist/store/sqlite-store.js";
import { call, runServer, temporaryFolder, textOf } from "../../../tests/support/running-server.ts";
import { StoreFixture } from "../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

/**
 * A text that does not occur in any file by chance. It has only letters and digits, so an index stores it as one
 * word.
 */
const canary = (what: string): string => `${what}canary${randomUUID().replaceAll("-", "")}`;

/** The files of a folder that contain a text, case-insensitively. */
const findIn = (folder: string, words: readonly string[]): string[] =>
  readdirSync(folder).flatMap((name) => {
    const bytes = readFileSync(join(folder, name)).toString("latin1").toLowerCase();
    return words.filter((word) => bytes.includes(word)).map((word) => `${name}: ${word}`);
  });

/** A part of a multipart request that declares its length. */
const sized = (text: string, type: string): Blob =>
  new Blob([text], { type: `${type}; length=${text.length}` });

/** Deletions are erased together, half a second after the last one; a busy machine takes longer. */
const within = { timeout: 10_000, interval: 100 };

test("deleted content is in no file within seconds, and other content stays", async () => {
  const folder = await temporaryFolder();
  let server = await runServer({ dataDir: folder });
  const words = {
    input: canary("input"),
    patch: canary("patch"),
    file: canary("file"),
    feedback: canary("feedback"),
    comment: canary("comment"),
    edited: canary("edited"),
    project: canary("project"),
    example: canary("example"),
    dataset: canary("dataset"),
  };
  const kept = canary("kept");
  const long = (word: string): string => `${word} `.repeat(2_000);
  const run = wireRun({ session_name: words.project, inputs: { text: long(words.input) } });
  const other = wireRun({ session_name: "other", inputs: { text: kept } });
  const form = new FormData();
  form.set(`post.${run.id}`, sized(JSON.stringify(run), "application/json"));
  form.set(`attachment.${run.id}.notes`, sized(long(words.file), "text/plain"));
  expect((await call(server, "POST /runs/multipart", { body: form })).status).toBe(202);
  await call(server, "POST /runs", { body: other });
  await call(server, `PATCH /runs/${run.id}`, {
    body: {
      trace_id: run.trace_id,
      dotted_order: run.dotted_order,
      outputs: { text: words.patch },
    },
  });
  const feedback = await call(server, "POST /feedback", {
    body: { run_id: other.id, key: "note", comment: words.feedback },
  });
  const headers = { "x-millrace-author": "Ada" };
  const [ofRun, ofOther] = [randomUUID(), randomUUID()];
  for (const comment of [
    { id: ofRun, run_id: run.id, text: words.comment },
    { id: ofOther, run_id: other.id, text: words.edited },
  ]) {
    await call(server, "POST /ui/comments", { body: comment, headers });
  }
  const dataset = await call(server, "POST /datasets", {
    body: { name: "kept", description: words.dataset },
  });
  const datasetId = textOf(dataset.json["id"]);
  const example = await call(server, "POST /examples", {
    body: { dataset_id: datasetId, inputs: { text: words.example } },
  });
  await call(server, "POST /examples", { body: { dataset_id: datasetId, inputs: { text: kept } } });
  expect((await call(server, `POST /datasets/${datasetId}/index`, { body: {} })).status).toBe(200);
  const all = Object.values(words);
  expect(new Set(findIn(folder, all).map((found) => found.split(": ")[1]))).toEqual(new Set(all));

  const sessions = await call(server, `GET /sessions?name=${words.project}`);
  await call(server, `DELETE /sessions/${textOf(sessions.json[0]?.["id"])}`);
  await call(server, `DELETE /feedback/${textOf(feedback.json["id"])}`);
  await call(server, `PATCH /ui/comments/${ofOther}`, { body: { text: kept }, headers });
  await call(server, "POST /v1/platform/datasets/examples/delete", {
    body: { example_ids: [example.json["id"]], hard_delete: true },
  });
  await call(server, `PATCH /datasets/${datasetId}`, { body: { description: "another" } });
  await expect.poll(() => findIn(folder, all), within).toEqual([]);
  expect(findIn(folder, [kept])).not.toEqual([]);
  await server.close();
  expect(findIn(folder, all)).toEqual([]);
  server = await runServer({ dataDir: folder });
  expect((await call(server, `GET /runs/${other.id}`)).json["inputs"]).toEqual({ text: kept });
  expect(findIn(folder, all)).toEqual([]);
}, 30_000);

test("content deleted by retention is in no file within seconds", async () => {
  const folder = await temporaryFolder();
  const store = await openSqliteStore(folder);
  const fixture = new StoreFixture(store);
  const words = [canary("old"), canary("tag")];
  await fixture.send({
    post: [wireRun({ inputs: { text: `${words[0]} `.repeat(3_000) }, tags: [words[1]] })],
  });
  await store.write.retention.set(fixture.tenantId, { projectId: null, days: 1 });
  expect(findIn(folder, words)).not.toEqual([]);
  const { deleted } = await store.write.retention.sweep(Date.now() * 1_000 * 10, null);
  expect(deleted).toBe(1);
  await expect.poll(() => findIn(folder, words), within).toEqual([]);
  await store.close();
  expect(findIn(folder, words)).toEqual([]);
}, 30_000);
