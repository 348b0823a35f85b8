import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { startServer } from "@millrace/server";
import { expect, test } from "vitest";
import { createWriters } from "../../src/store/repositories.ts";
import { openWriter } from "../../src/store/schema.ts";
import { readDefaultTenantId } from "../../src/storage/sqlite/open-database.ts";
import { fillStore, filled } from "../support/fill-store.ts";
import { pollInfo, pollWrites } from "../support/info-poller.ts";
import { call, temporaryFolder } from "../support/running-server.ts";

const sizes = { runs: 230_000, examples: 100_000 };
/**
 * Maximum milliseconds for which a request may block the HTTP thread, and for which it may delay another tenant's
 * write.
 */
const maxBlockedMs = 250;
const writeMs = 1_000;
/** Short, so that queries without a usable index are canceled soon and the test continues. */
const queryTimeoutMs = 1_500;
const closeMs = 5_000;

const many = (condition: (at: number) => string): string =>
  `or(${Array.from({ length: 20 }, (_, at) => condition(at)).join(", ")})`;

const query = (body: object) => ["POST /runs/query", body] as const;
const examples = `/examples?dataset=${filled.datasetId}`;
const session = [filled.projectId];

/**
 * The text index does not cover the store yet when the test begins, so most of these queries scan everything until
 * they are canceled.
 */
const hostile: readonly (readonly [string, object | undefined])[] = [
  query({ filter: 'search("zzz")' }),
  query({ filter: 'search("z")' }),
  query({ tree_filter: 'search("zzz")' }),
  query({ trace_filter: 'search("zzz")' }),
  query({ query: "zzz" }),
  query({ filter: many((at) => `like(name, "%zz${at}%")`) }),
  query({ filter: many((at) => `like(error, "%z${at}%")`) }),
  query({ filter: many((at) => `search("z${at}")`) }),
  query({ filter: 'eq(metadata.none, "none")' }),
  query({ limit: 1_000 }),
  ["POST /runs/stats", { filter: 'search("zzz")' }],
  ["POST /runs/stats", {}],
  ["POST /ui/runs/search", { session, filter: 'search("zzz")' }],
  ["POST /ui/runs/search", { session, query: "zzz" }],
  [`GET /ui/runs/counts?session=${filled.projectId}`, undefined],
  [`GET ${examples}&order=random&offset=99990`, undefined],
  [`GET ${examples}&offset=99990`, undefined],
  [`GET ${examples}&full_text_contains=zzz`, undefined],
  [`GET ${examples}&limit=1000`, undefined],
  [`GET /datasets/${filled.datasetId}/splits`, undefined],
  ["GET /sessions?include_stats=true", undefined],
];

test("no query blocks the HTTP thread or another tenant's write, and a server with 40 at once can still end", async () => {
  const folder = join(await temporaryFolder(), "data");
  await mkdir(folder, { mode: 0o700 });
  const db = openWriter(join(folder, "millrace.db"));
  const other = await createWriters(db).tenants.create({ handle: "other", displayName: "other" });
  fillStore(db, { tenantId: readDefaultTenantId(db), ...sizes });
  db.close();
  const server = await startServer({ port: 0, dataDir: folder, queryTimeoutMs });
  let ended = false;
  try {
    // Start the threads and compile the statements before measuring.
    await Promise.all(
      [1, 2, 3, 4].map(() => call(server, "POST /runs/stats", { body: { id: [] } })),
    );
    // Measures how long an idle thread waits for a processor meanwhile: the server's readers use all of them.
    const noise = monitorEventLoopDelay({ resolution: 5 });
    noise.enable();
    const info = await pollInfo(server);
    const writes = await pollWrites(server, { "x-tenant-id": other.id });
    const statuses = new Map<string, number>();
    for (const [target, body] of hostile) {
      const startMs = performance.now();
      const { status } = await call(server, target, { body });
      statuses.set(`${target} ${JSON.stringify(body)}`, status);
      // Allows for the time that a thread waits for a processor on a busy machine.
      expect(performance.now() - startMs).toBeLessThan(queryTimeoutMs * 3);
    }
    const failed = [...statuses].filter(([, status]) => status !== 200 && status !== 408);
    expect(failed).toEqual([]);
    const atOnce = Array.from({ length: 16 }, (_, at) =>
      call(server, "POST /runs/query", { body: { filter: `search("z${at}")` } }),
    );
    for (const { status } of await Promise.all(atOnce)) {
      expect([200, 408]).toContain(status);
    }
    const [seen, written] = [await info.stop(), await writes.stop()];
    noise.disable();
    const noiseMs = noise.max / 1e6;
    expect(seen.polls).toBeGreaterThan(50);
    expect(seen.statuses).toEqual({ 200: seen.polls });
    expect(seen.worstMs - noiseMs).toBeLessThan(maxBlockedMs);
    expect(written.statuses).toEqual({ 202: written.polls });
    expect(written.worstMs - noiseMs).toBeLessThan(writeMs);
    const underWay = Array.from({ length: 40 }, (_, at) =>
      call(server, "POST /runs/query", { body: { filter: `search("z${at}")` } }).catch(
        () => undefined,
      ),
    );
    await call(server, "GET /info");
    const startMs = performance.now();
    await server.close();
    ended = true;
    expect(performance.now() - startMs).toBeLessThan(closeMs);
    await Promise.all(underWay);
  } finally {
    if (!ended) {
      await server.close();
    }
  }
}, 120_000);

test("a query is canceled when its client disconnects, and its thread runs the next one", async () => {
  const folder = join(await temporaryFolder(), "data");
  await mkdir(folder, { mode: 0o700 });
  const db = openWriter(join(folder, "millrace.db"));
  fillStore(db, { tenantId: readDefaultTenantId(db), runs: 60_000, examples: 0 });
  db.close();
  const server = await startServer({ port: 0, dataDir: folder, queryTimeoutMs: 60_000 });
  try {
    const endless = {
      filter: many((at) => `and(search("z${at}"), search("q${at}"), search("x"))`),
    };
    const leaving = new AbortController();
    const left = Array.from({ length: 6 }, () =>
      fetch(`${server.url}/runs/stats`, {
        method: "POST",
        body: JSON.stringify(endless),
        signal: leaving.signal,
      }).catch(() => "left"),
    );
    await call(server, "GET /info");
    leaving.abort();
    expect(new Set(await Promise.all(left))).toEqual(new Set(["left"]));
    const startMs = performance.now();
    // The tenant had used all threads that it may use for such queries.
    const { status } = await call(server, "POST /runs/stats", { body: { id: [] } });
    expect(status).toBe(200);
    expect(performance.now() - startMs).toBeLessThan(5_000);
  } finally {
    await server.close();
  }
}, 60_000);
