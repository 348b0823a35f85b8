import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { RunningServer } from "@millrace/server";
import { startServer } from "@millrace/server";
import { expect, test } from "vitest";
import { createWriters } from "../../src/store/repositories.ts";
import { openWriter } from "../../src/store/schema.ts";
import { readDefaultTenantId } from "../../src/storage/sqlite/open-database.ts";
import type { Connection } from "../../src/storage/sqlite/connection.ts";
import { fillStore, filled } from "../support/fill-store.ts";
import { pollInfo, pollWrites } from "../support/info-poller.ts";
import { measureMemorySlowness } from "../support/memory-speed.ts";
import { temporaryFolder } from "../support/running-server.ts";

/**
 * Maximum milliseconds for which a request may block the HTTP thread, and for which it may delay another tenant's
 * write. Where new memory is slow, the limits are as many times higher: the values have up to 160 MB.
 */
const maxBlockedMs = 250;
const writeMaxMs = 1_000;

const { datasetId, projectId } = filled;
const mebibyte = 1_048_576;
/** The number of runs and examples with large texts, and the characters of each. */
const large = { count: 40, chars: 4 * mebibyte };

function enlarge(db: Connection): void {
  const text = `replace(hex(zeroblob(${large.chars / 2})), '0', 'x')`;
  db.exec(`UPDATE payloads SET body = '{"inputs":{"text":"' || ${text} || '"},"outputs":null}';
    UPDATE examples SET inputs = '{"input":"' || ${text} || '"}'`);
}

const numbered = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join(",");
const textOf = (chars: number): string => "x".repeat(chars);

const runOf = (id: string = randomUUID()): string =>
  `{"id":"${id}","trace_id":"${id}","dotted_order":"20260101T000000000000Z${id}","name":"x","run_type":"chain","start_time":"2026-01-01T00:00:00Z"}`;

const boundary = "part-of-many";

function partsOf(count: number): string {
  const parts = Array.from({ length: count }, () => {
    const id = randomUUID();
    const json = runOf(id);
    return `--${boundary}\r\nContent-Disposition: form-data; name="post.${id}"\r\nContent-Type: application/json; length=${json.length}\r\n\r\n${json}\r\n`;
  });
  return `${parts.join("")}--${boundary}--\r\n`;
}

interface Hostile {
  readonly what: string;
  readonly target: string;
  readonly body?: () => string;
  readonly type?: string;
  readonly status?: number;
}

const importTo = `POST /ui/datasets/${datasetId}/import`;
const feedbackOf = (more: string): string => `{"key":"k","run_id":"${randomUUID()}",${more}}`;
const hostile: readonly Hostile[] = [
  {
    what: "a page of large runs",
    target: "POST /runs/query",
    body: () => JSON.stringify({ session: [projectId], limit: 1_000 }),
  },
  {
    what: "a page of large runs",
    target: "POST /api/v2/runs/query",
    body: () =>
      JSON.stringify({
        project_ids: [projectId],
        page_size: 100,
        min_start_time: "2020-01-01T00:00:00Z",
        selects: ["INPUTS"],
      }),
  },
  {
    what: "large runs in the page's list",
    target: "POST /ui/runs/search",
    body: () => JSON.stringify({ session: [projectId], limit: 100 }),
  },
  { what: "large examples", target: `GET /examples?dataset=${datasetId}&limit=1000` },
  ...["csv", "jsonl", "openai_ft"].map((form) => ({
    what: "large examples",
    target: `GET /datasets/${datasetId}/${form}`,
  })),
  {
    what: "many values",
    target: "POST /feedback",
    body: () => feedbackOf(`"value":{"list":[${numbered(70_000, () => "{}")}]}`),
  },
  {
    what: "many long texts",
    target: "POST /feedback",
    body: () =>
      feedbackOf(`"value":{"list":[${numbered(70_000, () => JSON.stringify(textOf(300)))}]}`),
  },
  {
    what: "a long text",
    target: "POST /feedback",
    body: () => feedbackOf(`"comment":"${textOf(23 * mebibyte)}"`),
  },
  {
    what: "a manifest of many long texts",
    target: "POST /commits/-/p",
    body: () => `{"manifest":{"list":[${numbered(70_000, () => JSON.stringify(textOf(300)))}]}}`,
    status: 201,
  },
  {
    what: "a manifest of many values",
    target: "POST /commits/-/q",
    body: () => `{"manifest":{"list":[${numbered(70_000, () => '{"a":1}')}]}}`,
    status: 201,
  },
  {
    what: "10,000 rows",
    target: importTo,
    body: () => `[${numbered(10_000, () => `{"inputs":{"input":"${textOf(2_000)}"}}`)}]`,
  },
  {
    what: "10,000 rows that are none",
    target: importTo,
    body: () => `[${numbered(10_000, () => `{"inputs":["${textOf(2_000)}"]}`)}]`,
  },
  {
    what: "4,000 runs, less than a mebibyte",
    target: "POST /runs/batch",
    body: () => `{"post":[${numbered(4_000, () => runOf())}]}`,
    status: 202,
  },
  {
    what: "10,000 runs that are none",
    target: "POST /runs/batch",
    body: () => `{"post":[${numbered(10_000, () => `{"id":"${randomUUID()}"}`)}]}`,
    status: 422,
  },
  {
    what: "10,000 parts",
    target: "POST /runs/multipart",
    body: () => partsOf(10_000),
    type: `multipart/form-data; boundary=${boundary}`,
    status: 202,
  },
  {
    what: "100,000 parts",
    target: "POST /runs/multipart",
    body: () => partsOf(72_000),
    type: `multipart/form-data; boundary=${boundary}`,
    status: 413,
  },
  {
    what: "20,000 examples that are changed with it",
    target: `PATCH /datasets/${datasetId}`,
    body: () =>
      `{"patch_examples":{${numbered(20_000, () => `"${randomUUID()}":{"inputs":{"a":"${textOf(900)}"}}`)}}}`,
    status: 404,
  },
];

/** Prepares a request. The returned function sends it, and reads the response without buffering it. */
async function prepareRequest(server: RunningServer, { target, body, type }: Hostile) {
  const [method = "", path = ""] = target.split(" ");
  const content = body?.();
  return async () => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      ...(content !== undefined && {
        body: content,
        headers: { "content-type": type ?? "application/json" },
      }),
    });
    let text = "";
    let bytes = 0;
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      text = text === "" ? Buffer.from(chunk).toString("latin1", 0, 300) : text;
    }
    return { status: response.status, text, bytes };
  };
}

test("no large value blocks the HTTP thread or another tenant's write", async ({ annotate }) => {
  const folder = join(await temporaryFolder(), "data");
  await mkdir(folder, { mode: 0o700 });
  const db = openWriter(join(folder, "millrace.db"));
  const other = await createWriters(db).tenants.create({ handle: "other", displayName: "other" });
  const tenantId = readDefaultTenantId(db);
  fillStore(db, { tenantId, runs: large.count, examples: large.count });
  enlarge(db);
  db.close();
  const server = await startServer({ port: 0, dataDir: folder });
  const over: string[] = [];
  const slowness = measureMemorySlowness();
  await annotate(`new memory takes ${slowness.toFixed(1)} times as long as on an ordinary machine`);
  // Measures how long a nearly idle thread waits for a processor meanwhile.
  const noise = monitorEventLoopDelay({ resolution: 5 });
  noise.enable();
  try {
    for (const repo_handle of ["p", "q"]) {
      const body = (): string => JSON.stringify({ repo_handle, is_public: false });
      await (
        await prepareRequest(server, { what: "", target: "POST /repos", body })
      )();
    }
    for (const one of hostile) {
      const send = await prepareRequest(server, one);
      const info = await pollInfo(server);
      const writes = await pollWrites(server, { "x-tenant-id": other.id });
      noise.reset();
      const startMs = performance.now();
      const { status, text, bytes } = await send();
      const tookMs = performance.now() - startMs;
      const [seen, written] = [await info.stop(), await writes.stop()];
      const noiseMs = noise.max / 1e6;
      const figure = `${one.target}, ${one.what}: ${Math.round(tookMs)} ms, ${bytes} bytes, /info waited ${Math.round(seen.worstMs)} ms (${Math.round(seen.worstWithWaitsMs)}), a write ${Math.round(written.worstMs)} ms (${Math.round(written.worstWithWaitsMs)}), an idle thread ${Math.round(noiseMs)} ms`;
      await annotate(figure);
      const isHeld =
        seen.worstMs - noiseMs > slowness * maxBlockedMs ||
        written.worstMs - noiseMs > slowness * writeMaxMs;
      if (status !== (one.status ?? 200)) {
        over.push(`${one.target}, ${one.what}: ${status} ${text}`);
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
