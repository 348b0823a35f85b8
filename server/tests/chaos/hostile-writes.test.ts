import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { startServer } from "@millrace/server";
import { expect, test } from "vitest";
import { createWriters } from "../../src/store/repositories.ts";
import { openWriter } from "../../src/store/schema.ts";
import { readDefaultTenantId } from "../../src/storage/sqlite/open-database.ts";
import { fillStore, filled } from "../support/fill-store.ts";
import { pollInfo, pollWrites } from "../support/info-poller.ts";
import { call, temporaryFolder } from "../support/running-server.ts";
import type { CallInit } from "../support/running-server.ts";

/** The full sizes take a minute or two; a tenth of them is enough to detect a write that does not run in slices. */
const isWhole = process.env["HOSTILE_WRITES"] === "whole";
const sizes = isWhole ? { runs: 230_000, examples: 100_000 } : { runs: 23_000, examples: 20_000 };
/**
 * Maximum milliseconds for which a request may block the HTTP thread, and for which it may delay another tenant's
 * write.
 */
const maxBlockedMs = 250;
const writeMaxMs = 1_000;

const { datasetId, projectId } = filled;
const ids = Array.from(
  { length: sizes.examples },
  (_, at) => `00000000-0000-4000-8000-4${at.toString(16).padStart(11, "0")}`,
);
const schema = { type: "object", properties: { question: { type: "string" } } };

const padding = "x".repeat(150);

function csvForm(rows: number): FormData {
  const lines = Array.from({ length: rows }, (_, at) => `question ${at} ${padding},answer ${at}`);
  const form = new FormData();
  form.append(
    "file",
    new Blob([`q,a\n${lines.join("\n")}\none cell too many,a,b\n`]),
    "broken.csv",
  );
  form.append("input_keys", "q");
  form.append("output_keys", "a");
  form.append("name", "broken");
  return form;
}

/** The request, its body, and the expected status. */
type Hostile = readonly [target: string, body: () => CallInit["body"], status: number];
const hostile: readonly Hostile[] = [
  [`PUT /datasets/${datasetId}/splits`, () => ({ split_name: "test", examples: ids }), 200],
  [
    `PUT /datasets/${datasetId}/splits`,
    () => ({ split_name: "test", examples: ids, remove: true }),
    200,
  ],
  [`PATCH /datasets/${datasetId}`, () => ({ inputs_schema_definition: schema }), 200],
  [
    "POST /v1/platform/datasets/examples/delete",
    () => ({ example_ids: ids.slice(0, 10_000), hard_delete: true }),
    200,
  ],
  [
    "POST /v1/platform/datasets/examples/delete",
    () => ({ example_ids: ids.slice(10_000, 19_000), hard_delete: false }),
    200,
  ],
  ["POST /datasets/upload", () => csvForm(sizes.examples), 422],
  [`POST /datasets/${datasetId}/index`, () => ({}), 200],
  [`GET /datasets/${datasetId}/csv`, () => undefined, 200],
  [`GET /datasets/${datasetId}/jsonl`, () => undefined, 200],
  [`DELETE /datasets/${datasetId}`, () => undefined, 200],
  [`DELETE /sessions/${projectId}`, () => undefined, 200],
];

test("no large write blocks the HTTP thread or another tenant's write", async ({ annotate }) => {
  const folder = join(await temporaryFolder(), "data");
  await mkdir(folder, { mode: 0o700 });
  const db = openWriter(join(folder, "millrace.db"));
  const other = await createWriters(db).tenants.create({ handle: "other", displayName: "other" });
  fillStore(db, { tenantId: readDefaultTenantId(db), ...sizes });
  db.close();
  const server = await startServer({ port: 0, dataDir: folder });
  const over: string[] = [];
  // Measures how long a nearly idle thread waits for a processor meanwhile.
  const noise = monitorEventLoopDelay({ resolution: 5 });
  noise.enable();
  try {
    for (const [target, body, status] of hostile) {
      const given = body();
      const info = await pollInfo(server);
      const writes = await pollWrites(server, { "x-tenant-id": other.id });
      noise.reset();
      const startMs = performance.now();
      const response = await call(server, target, { body: given });
      const [seen, written] = [await info.stop(), await writes.stop()];
      const noiseMs = noise.max / 1e6;
      const figure = `${target}: ${Math.round(performance.now() - startMs)} ms, /info waited ${Math.round(seen.worstMs)} ms (${Math.round(seen.worstWithWaitsMs)}), a write ${Math.round(written.worstMs)} ms (${Math.round(written.worstWithWaitsMs)}), an idle thread ${Math.round(noiseMs)} ms`;
      await annotate(figure);
      expect(written.statuses).toEqual({ 202: written.polls });
      const isHeld =
        seen.worstMs - noiseMs > maxBlockedMs || written.worstMs - noiseMs > writeMaxMs;
      if (response.status !== status) {
        over.push(`${target}: ${response.status} ${response.text.slice(0, 300)}`);
      } else if (isHeld) {
        over.push(figure);
      }
    }
    expect(over).toEqual([]);
  } finally {
    noise.disable();
    await server.close();
  }
}, 400_000);
