import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openSqliteStore } from "../../../../dist/store/sqlite-store.js";
import { messageOf } from "../../../model/errors.ts";
import { toRunJson } from "../../serializers/run-json.ts";
import { databaseFileName } from "../../../storage/sqlite/open-database.ts";
import { openDatabase } from "../../../storage/sqlite/connection.ts";
import {
  call,
  runServer,
  temporaryFolder,
  textOf,
} from "../../../../tests/support/running-server.ts";
import { patchOf, StoreFixture } from "../../../../tests/support/store-fixture.ts";
import type { WireObject } from "../../../../tests/support/store-fixture.ts";
import { multipart, multipartType, wireRun } from "../../../../tests/support/wire-runs.ts";

/** The inputs of run `n`: unique, and for some runs as long as several pages. */
const createInputs = (n: number) => ({ text: `question ${n} `.repeat(n % 50 === 0 ? 3_000 : 150) });
const createOutputs = (n: number) => ({ text: `answer ${n} `.repeat(80) });

/** Creates fixed ids, so that the same seed flips the same content. */
const createId = (n: number): string =>
  `${(Math.imul(n + 1, 2_654_435_761) >>> 0).toString(16).padStart(8, "0")}-0000-4000-8000-${String(n).padStart(12, "0")}`;

/**
 * Creates a folder with `count` runs, of which those with even numbers are ended by a patch. Returns the runs in
 * order.
 */
async function createFolder(count: number) {
  const folder = await temporaryFolder();
  const store = await openSqliteStore(folder);
  const fixture = new StoreFixture(store);
  const runs = Array.from({ length: count }, (_, n) =>
    wireRun({ id: createId(n), inputs: createInputs(n) }),
  );
  for (let from = 0; from < count; from += 100) {
    const post = runs.slice(from, from + 100);
    const ends = post.map((run, at) => patchOf(run, { outputs: createOutputs(from + at) }));
    await fixture.send({ post, patch: ends.filter((_, at) => at % 2 === 0) });
  }
  await store.close();
  return { folder, path: join(folder, databaseFileName), runs };
}

/** A sequence of pseudo-random numbers that depends only on the seed. */
function* random(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** Flips random bits of a file after the position `from`. */
function flipBits(path: string, count: number, { seed, from }: { seed: number; from: number }) {
  const bytes = readFileSync(path);
  const next = random(seed);
  for (let flip = 0; flip < count; flip += 1) {
    const at = from + Math.floor(next.next().value * (bytes.length - from));
    bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(next.next().value * 8));
  }
  writeFileSync(path, bytes);
}

/** Reads each run by its id and counts the results. */
async function readAll(folder: string, runs: readonly WireObject[]) {
  const store = await openSqliteStore(folder);
  const fixture = new StoreFixture(store);
  const counts = { right: 0, refused: 0, unknown: 0, wrong: 0 };
  for (const [n, { id }] of runs.entries()) {
    try {
      const run = await fixture.read(String(id));
      const fate = isUndamaged(run, n) ? "right" : "wrong";
      counts[run["id"] === undefined ? "unknown" : fate] += 1;
    } catch {
      counts.refused += 1;
    }
  }
  await store.close();
  return counts;
}

/** Lists all runs and counts the results. */
async function listAll(folder: string, runs: readonly WireObject[]) {
  const store = await openSqliteStore(folder);
  const listed = { right: 0, marked: 0, wrong: 0 };
  const numbers = new Map(runs.map(({ id }, n) => [String(id), n]));
  for (let from = 0; from < runs.length; from += 100) {
    const ids = runs.slice(from, from + 100).map(({ id }) => String(id));
    const query = { filter: { ids }, order: "asc", limit: 100, withChildren: false } as const;
    // Listing fails if SQLite can't read a page of the database.
    const page = await store.read.runs
      .query(store.defaultTenantId, query)
      .catch(() => ({ runs: [] }));
    for (const stored of page.runs) {
      const run = JSON.parse(toRunJson(stored).toString()) as WireObject;
      const fate = isUndamaged(run, numbers.get(stored.row.id) ?? -1) ? "right" : "wrong";
      listed[isMarked(run) ? "marked" : fate] += 1;
    }
  }
  await store.close();
  return listed;
}

const isMarked = (run: WireObject): boolean => JSON.stringify(run).includes("millrace_damaged");

const isUndamaged = (run: WireObject, n: number): boolean =>
  JSON.stringify(run["inputs"]) === JSON.stringify(createInputs(n)) &&
  JSON.stringify(run["outputs"] ?? null) === JSON.stringify(n % 2 === 0 ? createOutputs(n) : null);

/**
 * Flips 40 bits of a database and reads all runs. If the server can't start, it must report why; then other bits are
 * flipped.
 */
async function readFlipped({ folder, path, runs }: Awaited<ReturnType<typeof createFolder>>) {
  const whole = readFileSync(path);
  for (let seed = 1; seed <= 6; seed += 1) {
    writeFileSync(path, whole);
    flipBits(path, 40, { seed, from: 0 });
    try {
      return { read: await readAll(folder, runs), listed: await listAll(folder, runs) };
    } catch (cause) {
      if (!/malformed|not a database/.test(messageOf(cause))) {
        throw cause;
      }
    }
  }
  throw new Error("no seed leaves a database that opens");
}

test("40 flipped bits in a database with 2,000 runs never return a wrong payload", async () => {
  const { read, listed } = await readFlipped(await createFolder(2_000));
  expect([read.wrong, listed.wrong]).toEqual([0, 0]);
  expect(read.refused).toBeGreaterThan(0);
  expect(listed.marked).toBeGreaterThan(0);
  expect(read.right).toBeGreaterThan(1_000);
});

test("flipped bits in the log of a killed server never return a wrong payload", async () => {
  const { folder, runs } = await createFolder(200);
  const killed = await temporaryFolder();
  const store = await openSqliteStore(folder);
  const fixture = new StoreFixture(store);
  for (const run of runs.filter((_, n) => n % 2 === 1)) {
    await fixture.send({ patch: [patchOf(run, { outputs: { text: "later" } })] });
  }
  for (const name of [databaseFileName, `${databaseFileName}-wal`]) {
    copyFileSync(join(folder, name), join(killed, name));
  }
  await store.close();
  flipBits(join(killed, `${databaseFileName}-wal`), 3, { seed: 1, from: 32 });
  // Commits that SQLite could not recover are missing: runs are as `createFolder` posted them, or with the patch.
  const again = await openSqliteStore(killed);
  for (const [n, { id }] of runs.entries()) {
    const { inputs, outputs = null } = await new StoreFixture(again).read(id);
    expect(inputs).toEqual(createInputs(n));
    expect(n % 2 === 0 ? [createOutputs(n)] : [null, { text: "later" }]).toContainEqual(outputs);
  }
  await again.close();
});

/** Changes stored content without its checksum. */
function changeContent(path: string, sql: string): void {
  const db = openDatabase(path);
  db.exec(sql);
  db.close();
}

describe("a run whose payload is damaged", () => {
  test("is an error that says what to do, and is marked in lists; its neighbors are returned", async () => {
    const { folder, path, runs } = await createFolder(4);
    const [id, other] = [createId(1), createId(2)];
    changeContent(
      path,
      `UPDATE payloads SET body = replace(body, 'question', 'Question') WHERE id = '${id}'`,
    );
    const server = await runServer({ dataDir: folder });
    for (const target of [`GET /runs/${id}`, `GET /api/v1/runs/${id}`]) {
      const { status, text } = await call(server, target);
      expect(status).toBe(500);
      expect(text).toContain(`run ${id} is damaged on disk`);
      expect(text).toContain("Restore a backup");
    }
    expect((await call(server, `GET /runs/${other}`)).json["inputs"]).toEqual(createInputs(2));
    const { json } = await call(server, "POST /runs/query", {
      body: { id: runs.map((run) => run.id) },
    });
    const listed = json["runs"] as unknown as readonly WireObject[];
    expect(listed.filter(isMarked).map((run) => run["id"])).toEqual([id]);
    expect(listed).toHaveLength(4);
    // A patch is still accepted: its own content is valid.
    const patch = { trace_id: id, dotted_order: runs[1]?.dotted_order, outputs: {} };
    expect((await call(server, `PATCH /runs/${id}`, { body: patch })).status).toBe(202);
  });

  test("is also an error if the payload belongs to another run, or is missing", async () => {
    const { folder, path } = await createFolder(4);
    changeContent(
      path,
      `CREATE TEMP TABLE t AS SELECT body, checksum FROM payloads WHERE id = '${createId(3)}';
       UPDATE payloads SET (body, checksum) = (SELECT body, checksum FROM t) WHERE id = '${createId(1)}';
       DELETE FROM payloads WHERE id = '${createId(0)}' AND digest = '';
       DELETE FROM payloads WHERE id = '${createId(2)}' AND digest <> ''`,
    );
    const server = await runServer({ dataDir: folder });
    const statuses = await Promise.all(
      [0, 1, 2, 3].map(async (n) => (await call(server, `GET /runs/${createId(n)}`)).status),
    );
    expect(statuses).toEqual([500, 500, 500, 200]);
  });

  test("is logged once", async () => {
    const { folder, path } = await createFolder(2);
    changeContent(path, `UPDATE payloads SET body = body || ' ' WHERE id = '${createId(1)}'`);
    const server = new URL("../../../../dist/index.js", import.meta.url).href;
    const program = `const { startServer } = await import(${JSON.stringify(server)});
      const server = await startServer({ port: 0, dataDir: ${JSON.stringify(folder)} });
      await Promise.all(Array.from({ length: 8 }, () => fetch(server.url + "/runs/${createId(1)}")));
      await server.close();`;
    const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
      timeout: 20_000,
    });
    expect(stderr.split(`run ${createId(1)} is damaged on disk`)).toHaveLength(2);
  });

  test("is returned without a check if it is older than checksums", async () => {
    const { folder, path } = await createFolder(2);
    changeContent(path, "UPDATE payloads SET checksum = NULL");
    expect(await readAll(folder, [{ id: createId(0) }, { id: createId(1) }])).toMatchObject({
      right: 2,
    });
  });
});

test("a damaged attachment is an error, of a run and of an example with a copy of it", async () => {
  const folder = await temporaryFolder();
  const first = await runServer({ dataDir: folder });
  const run = wireRun();
  const parts = [
    { name: `post.${run.id}`, body: JSON.stringify({ ...run, session_name: "s" }) },
    { name: `attachment.${run.id}.note`, body: "attached text", contentType: "text/plain" },
  ];
  const sent = await call(first, "POST /runs/multipart", {
    body: multipart(parts),
    headers: { "content-type": multipartType },
  });
  expect(sent.status).toBe(202);
  const dataset = textOf((await call(first, "POST /datasets", { body: { name: "d" } })).json["id"]);
  const created = await call(first, "POST /examples", {
    body: {
      dataset_id: dataset,
      inputs: {},
      source_run_id: run.id,
      use_source_run_attachments: ["note"],
    },
  });
  const example = textOf(created.json["id"]);
  const files = async (server: { readonly url: string }) => {
    const ofRun = (await call(server, `GET /runs/${run.id}`)).json["s3_urls"]?.["attachment.note"];
    const { json } = await call(server, `GET /examples/${example}`);
    const ofExample = json["attachment_urls"]?.["attachment.note"];
    const urls = [ofRun, ofExample].map((file) => textOf(file?.["presigned_url"]));
    return Promise.all(urls.map(async (url) => (await fetch(url)).text()));
  };
  expect(await files(first)).toEqual(["attached text", "attached text"]);
  await first.close();
  const path = join(folder, databaseFileName);
  const damage = "SET bytes = CAST(replace(bytes, 'text', 'test') AS BLOB)";
  changeContent(path, `UPDATE attachments ${damage}; UPDATE example_blobs ${damage}`);
  const [ofRun, ofExample] = await files(await runServer({ dataDir: folder }));
  expect(ofRun).toContain(`attachment note of run ${run.id} is damaged on disk`);
  expect(ofExample).toContain(`a file of example ${example} is damaged on disk`);
});
