import { join } from "node:path";
import * as fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { checkFilter } from "../../../filter/checker.ts";
import type { CheckedFilter } from "../../../filter/checker.ts";
import { runFields } from "../../../filter/fields.ts";
import { parseBatch } from "../../ingest/parse-batch.ts";
import type { RunSearch, SearchSlice } from "../../run-list.ts";
import type { RunFilter, RunPosition } from "../../run-query.ts";
import type { StoredRun } from "../../run-row.ts";
import { createReaders, createWriters } from "../../../store/repositories.ts";
import { toBuffer } from "../payload-reader.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import { openWriter } from "../../../store/schema.ts";
import { openReader, readDefaultTenantId } from "../../../storage/sqlite/open-database.ts";
import { openDatabase } from "../../../storage/sqlite/connection.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import {
  attachTextIndex,
  prepareTextIndex,
  createRowQuery,
  type RowRange,
} from "../text-index/text-index.ts";
import { TextIndexer } from "../text-index/text-indexer.ts";
import { temporaryFolder } from "../../../../tests/support/running-server.ts";
import { patchOf } from "../../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";

/** A database with its text index, and the same readers with and without the index. */
class IndexFixture {
  readonly file: string;
  readonly writer: Connection;
  readonly writers: ReturnType<typeof createWriters>;
  readonly tenantId: string;
  readonly #indexed: Connection;
  readonly #scanning: Connection;
  readonly #readers;
  #indexer: TextIndexer;

  static async open(): Promise<IndexFixture> {
    return new IndexFixture(join(await temporaryFolder(), "millrace.db"));
  }

  constructor(file: string) {
    this.file = file;
    this.writer = openWriter(file);
    this.writers = createWriters(this.writer);
    this.tenantId = readDefaultTenantId(this.writer);
    prepareTextIndex(file);
    this.#indexer = this.#openIndexer();
    this.#indexed = openReader(file);
    attachTextIndex(this.#indexed, file);
    this.#scanning = openReader(file);
    this.#readers = { indexed: createReaders(this.#indexed), scan: createReaders(this.#scanning) };
    onTestFinished(() => {
      this.#indexer.close();
      for (const db of [this.#indexed, this.#scanning, this.writer]) {
        db.close();
      }
    });
  }

  send(json: string): void {
    this.writers.runs.apply(this.tenantId, parseBatch(Buffer.from(json)).batch);
  }

  post(...runs: readonly object[]): void {
    this.send(JSON.stringify({ post: runs }));
  }

  patch(...runs: readonly object[]): void {
    this.send(JSON.stringify({ patch: runs }));
  }

  async deleteProject(name: string): Promise<void> {
    const [[id] = []] = parseRows(
      this.writer
        .prepare("SELECT id FROM projects WHERE name_json = ?")
        .raw()
        .all([`"${name}"`]),
    );
    (await this.writers.projects.delete(this.tenantId, String(id))).finish();
  }

  step(): Promise<boolean> {
    return this.#indexer.runStep();
  }

  /** Indexes everything. Rows that came since the last step are only counted at the second idle step. */
  async index(): Promise<void> {
    for (let idle = 0; idle < 2;) {
      idle = (await this.step()) ? 0 : idle + 1;
    }
  }

  /** Simulates a restart of the server. */
  reopenIndexer(): void {
    this.#indexer.close();
    this.#indexer = this.#openIndexer();
  }

  /** Ids that a filter finds with the index; throws if a scan finds others. */
  find(filter: RunFilter): string[] {
    const [found, scanned] = (["indexed", "scan"] as const).map((way) =>
      this.#readers[way].runs
        .query(this.tenantId, { filter, order: "asc", limit: 1_000, withChildren: false })
        .runs.map(({ row }) => row.id),
    );
    if (JSON.stringify(found) !== JSON.stringify(scanned)) {
      throw new Error(`${JSON.stringify(filter)}: index ${String(found)}, scan ${String(scanned)}`);
    }
    return found ?? [];
  }

  /**
   * Ids on the first page of the UI's list, the newest first, and the statements that found them; throws if a scan
   * finds others.
   */
  list(filter: RunSearch["filter"], limit: number): { ids: string[]; statements: string[] } {
    const [[projectId] = []] = parseRows(
      this.writer.prepare("SELECT id FROM projects WHERE name_json = '\"default\"'").raw().all(),
    );
    const prepared = vi.spyOn(this.#indexed, "prepareRaw");
    const search: RunSearch = {
      projectId: String(projectId),
      filter,
      sort: "start",
      order: "desc",
      limit,
      scanLimit: 1_000,
    };
    const [found, scanned] = (["indexed", "scan"] as const).map((way) => {
      const ids: string[] = [];
      let step: SearchSlice<StoredRun> | undefined;
      do {
        step = this.#readers[way].runLists.search(this.tenantId, {
          ...search,
          limit: limit - ids.length,
          ...(step?.nextPosition && { after: step.nextPosition }),
        });
        ids.push(...step.runs.map(({ row }) => row.id));
      } while (step.nextPosition !== undefined && ids.length < limit);
      return ids;
    });
    const statements = prepared.mock.calls.map(([sql]) => sql);
    prepared.mockRestore();
    const pages = (["asc", "desc"] as const).map((order) =>
      (["indexed", "scan"] as const).map((way) =>
        this.#pages(way, { ...filter, projectIds: [search.projectId] }, { order, limit }),
      ),
    );
    for (const [one, other] of [[found, scanned], ...pages]) {
      if (JSON.stringify(one) !== JSON.stringify(other)) {
        throw new Error(`index ${String(one)}, scan ${String(other)}`);
      }
    }
    return { ids: found ?? [], statements };
  }

  /** Ids on up to three pages that clients request. */
  #pages(
    way: "indexed" | "scan",
    filter: RunFilter,
    { order, limit }: { order: "asc" | "desc"; limit: number },
  ): string[] {
    const ids: string[] = [];
    let after: RunPosition | undefined;
    for (let page = 0; page < 3; page += 1) {
      const { runs, nextPosition } = this.#readers[way].runs.query(this.tenantId, {
        filter,
        order,
        limit,
        withChildren: false,
        ...(after && { after }),
      });
      ids.push(...runs.map(({ row }) => row.id));
      after = nextPosition;
      if (nextPosition === undefined) {
        break;
      }
    }
    return ids;
  }

  /** Number of rows that are read to search for a text. */
  candidates(text: string): number {
    return this.candidateRows(text).length;
  }

  candidateRows(text: string, range?: RowRange): number[] {
    const { sql, values } = createRowQuery(text, range) ?? { sql: "", values: [] };
    return parseRows(this.#indexed.prepare(sql).raw().all(values)).map(([row]) => Number(row));
  }

  #openIndexer(): TextIndexer {
    return new TextIndexer(this.file, {
      claimRuns: async (row) => this.writers.textIndex.claimRuns(row),
      deleteChanges: async (seq) => this.writers.textIndex.deleteChanges(seq),
    });
  }
}

const search = (text: string): CheckedFilter => ({ kind: "search", text });
const like = (field: string, pattern: string): CheckedFilter =>
  checkFilter(`like(${field}, ${JSON.stringify(pattern)})`, runFields);

/**
 * Characters that SQLite and FTS5 treat differently, that JSON escapes, or that are special in patterns and FTS5
 * queries.
 */
const fragments = fc.constantFrom(
  ..."aBzu0%_*'\"\\/{}[]:,-\n\t\r\b\f\0\u0001 ".split(""),
  ..."éÉßẞıİſKäÄ日本\u{1f600}\u{1f600}\ud800\udc00\ufffd\uffff\u0301".split(""),
  "AND",
  "refund",
  "ReFuNd",
  "u00e9",
  "\\n",
  "0041",
);
const text = fc.array(fragments, { maxLength: 12 }).map((list) => list.join(""));

/** JSON with escapes where none is needed, as some clients write it. */
const toJson = (value: unknown, isEscaped: (at: number) => boolean): string =>
  JSON.stringify(value).replaceAll(
    /[^\\"{}[\]:,\x20-\x2f]/gu,
    (letter, at: number, whole: string) =>
      !isEscaped(at) ||
      letter.length > 1 ||
      /\\(u[\da-f]{0,3})?$/.test(whole.slice(0, at)) ||
      isWord(whole, at)
        ? letter
        : `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Whether a position is outside of strings. */
const isWord = (json: string, at: number): boolean =>
  (json.slice(0, at).replaceAll(/\\./g, "").split('"').length - 1) % 2 === 0;

test("with the index the same runs are found as without it, whatever the texts", async () => {
  const fixture = await IndexFixture.open();
  const contents = fc.sample(fc.tuple(text, text, text, text), { numRuns: 80, seed: 7 });
  const posts = contents.map(([name, input, output, tag], at) => {
    const run = wireRun({
      name,
      inputs: { question: input, deep: [{ [tag]: output }] },
      tags: [tag],
      extra: { metadata: { note: output } },
      ...(at % 3 === 0 ? { error: at % 2 === 0 ? input : { reason: [input, 1] } } : {}),
    });
    return toJson(run, (place) => (place * 31 + at) % 4 === 0);
  });
  const needles = fc.sample(
    fc.oneof(
      text,
      // A part of a text that is stored.
      fc
        .tuple(fc.constantFrom(...contents.flat()), fc.nat(9), fc.integer({ min: 1, max: 9 }))
        .map(([whole, from, length]) => whole.slice(from, from + length)),
    ),
    { numRuns: 60, seed: 11 },
  );
  const check = (): number => {
    let found = 0;
    for (const needle of needles.filter((one) => one !== "")) {
      found += fixture.find({ text: needle }).length;
      found += fixture.find({ runFilters: [search(needle)] }).length;
    }
    for (const needle of needles.filter((one) => one !== "" && !one.includes("\0")).slice(0, 20)) {
      for (const field of ["error", "tags", "name", "metadata.note", "inputs.question"]) {
        found += fixture.find({ runFilters: [like(field, `%${needle}%`)] }).length;
      }
      const parts = [search(needle), like("tags", needle), like("error", `${needle}%`)];
      fixture.find({ runFilters: [{ kind: "or", parts }] });
      fixture.find({ runFilters: [{ kind: "not", part: search(needle) }] });
      fixture.find({ treeFilter: search(needle) });
      fixture.find({ rootFilter: { kind: "and", parts } });
    }
    return found;
  };
  fixture.send(`{"post":[${posts.slice(0, 40).join(",")}]}`);
  await fixture.index();
  fixture.send(`{"post":[${posts.slice(40).join(",")}]}`);
  const found = check();
  expect(found).toBeGreaterThan(300);
  await fixture.index();
  expect(check()).toBe(found);
  expect(fixture.candidates("no such words")).toBe(0);
}, 60_000);

test("a rare text leads to the few runs that contain it, a common one to all, case-insensitively", async () => {
  const fixture = await IndexFixture.open();
  const runs = Array.from({ length: 300 }, (_, at) =>
    wireRun({ name: `step ${at}`, inputs: { text: at === 7 ? "Quokka" : "an order" } }),
  );
  fixture.post(...runs);
  expect(fixture.candidates("quokka")).toBe(300);
  await fixture.index();
  expect(fixture.candidates("quokka")).toBe(1);
  expect(fixture.candidates("step")).toBe(300);
  expect(fixture.find({ text: "qUOKKA" })).toEqual([runs[7]?.id]);
  expect(fixture.find({ treeFilter: search("QUOKKA") })).toEqual([runs[7]?.id]);
});

test("a list is searched for a common text in its own order, for a rare one by counting the runs that contain it", async () => {
  const fixture = await IndexFixture.open();
  const runs = Array.from({ length: 1_200 }, (_, at) =>
    wireRun({
      inputs: { text: at === 7 ? "Quokka" : "an order" },
      tags: at % 40 === 0 ? ["walrus"] : [],
      start_time: new Date(1_790_000_000_000 + at * 1_000).toISOString(),
    }),
  );
  fixture.post(...runs);
  const isCounted = (needle: string, limit: number): boolean => {
    const filters = [{ text: needle }, { runFilters: [search(needle)] }];
    const counted = filters.map((filter) => {
      const { ids, statements } = fixture.list(filter, limit);
      const matching = runs
        .filter((run) => JSON.stringify(run).includes(needle))
        .map(({ id }) => id);
      expect(ids).toEqual(matching.toReversed().slice(0, limit));
      return statements.some((sql) => sql.includes("count(*)"));
    });
    expect(new Set(counted).size).toBe(1);
    return counted[0] ?? false;
  };
  for (const indexAll of [async () => undefined, () => fixture.index()]) {
    await indexAll();
    expect(isCounted("an order", 50)).toBe(false);
    // In five of 200 runs: scanning further fills the page soon.
    expect(isCounted("walrus", 20)).toBe(false);
    expect(isCounted("Quokka", 50)).toBe(true);
    expect(isCounted("no such text", 50)).toBe(true);
  }
  // Runs that the index has not taken in yet are found, too.
  const late = wireRun({ inputs: { text: "an order" }, start_time: "2026-12-01T00:00:00Z" });
  fixture.post(late);
  expect(fixture.list({ text: "an order" }, 50).ids[0]).toBe(late.id);
});

test("candidates within a range of rows are those of the whole index in that range", async () => {
  const fixture = await IndexFixture.open();
  fixture.post(
    ...Array.from({ length: 500 }, (_, at) =>
      wireRun({ inputs: { text: at % 3 === 0 ? "zebra crossing" : "zebra" } }),
    ),
  );
  await fixture.index();
  fixture.post(...Array.from({ length: 20 }, () => wireRun({ inputs: { text: "late zebra" } })));
  const all = fixture.candidateRows("zebra crossing");
  expect(all.length).toBeGreaterThan(160);
  for (const range of [
    { from: 1, to: 40 },
    { from: 490, to: 510 },
    { from: 300, to: 5_000 },
    { from: 800, to: 900 },
  ]) {
    const within = all.filter((row) => row >= range.from && row <= range.to);
    const found = fixture.candidateRows("zebra crossing", range);
    expect(found.toSorted((a, b) => a - b)).toEqual(within.toSorted((a, b) => a - b));
  }
});

test("a patch, a new name and a deletion take effect in searches at once, and the index follows", async () => {
  const fixture = await IndexFixture.open();
  const run = wireRun({ name: "before", inputs: { text: "walrus" }, session_name: "kept" });
  const gone = wireRun({ name: "gone", inputs: { text: "ocelot" }, session_name: "left" });
  fixture.post(run, gone);
  await fixture.index();
  fixture.patch(patchOf(run, { name: "behind", outputs: { text: "narwhal" } }));
  const check = (): void => {
    expect(fixture.find({ text: "narwhal" })).toEqual([run.id]);
    expect(fixture.find({ runFilters: [search("behind")] })).toEqual([run.id]);
    expect(fixture.find({ text: "ocelot" })).toEqual([]);
  };
  await fixture.deleteProject("left");
  check();
  await fixture.index();
  check();
  expect(fixture.candidates("narwhal")).toBe(1);
  expect(fixture.candidates("ocelot")).toBe(0);
  // The next run reuses the deleted run's rowid, so the index must not return its old entry.
  const next = wireRun({ name: "next", inputs: { text: "pangolin" } });
  fixture.post(next);
  expect(fixture.find({ text: "pangolin" })).toEqual([next.id]);
  await fixture.index();
  expect(fixture.find({ text: "pangolin" })).toEqual([next.id]);
  expect(fixture.candidates("pangolin")).toBe(1);
});

test("deleted text is removed from the file of the index", async () => {
  const fixture = await IndexFixture.open();
  // Runic letters. FTS5 omits from a stored term the prefix that it shares with the previous one, so the text must
  // not share any.
  const canary = "\u16a0\u16a2\u16a6\u16a8";
  fixture.post(wireRun({ inputs: { text: canary }, session_name: "left" }), wireRun());
  await fixture.index();
  const trigramsOf = (): number => {
    const db = openReader(fixture.file.replace("millrace.db", "millrace.search.db"));
    const rows = parseRows(db.prepare("SELECT block FROM docs_data").raw().all());
    db.close();
    return rows.filter(([block]) => toBuffer(block).includes(canary.slice(0, 3))).length;
  };
  expect(trigramsOf()).toBeGreaterThan(0);
  await fixture.deleteProject("left");
  await fixture.index();
  expect(fixture.candidates(canary)).toBe(0);
  expect(trigramsOf()).toBe(0);
});

test("stopping between any two steps loses nothing: the rest is indexed later, or read without the index", async () => {
  const fixture = await IndexFixture.open();
  const runs = Array.from({ length: 40 }, (_, at) => wireRun({ name: `word${at}word` }));
  fixture.post(...runs.slice(0, 20));
  for (const [at, run] of runs.slice(20).entries()) {
    fixture.post(run);
    fixture.patch(patchOf(runs[at] ?? {}, { outputs: { text: `patched${at}` } }));
    await fixture.step();
    fixture.reopenIndexer();
    expect(fixture.find({ text: `patched${at}` })).toEqual([runs[at]?.id]);
    expect(fixture.find({ text: `word${20 + at}word` })).toEqual([run.id]);
  }
  await fixture.index();
  expect(fixture.candidates("patched19")).toBe(1);
});

test("an index of another database, an old one and a damaged one are rebuilt", async () => {
  const fixture = await IndexFixture.open();
  fixture.post(wireRun({ name: "walrus" }));
  await fixture.index();
  const other = await IndexFixture.open();
  const path = other.file.replace("millrace.db", "millrace.search.db");
  const damage = openDatabase(path);
  damage.exec("UPDATE state SET owner = 'another', indexed = 100");
  damage.close();
  prepareTextIndex(other.file);
  const again = openReader(path);
  expect(parseRows(again.prepare("SELECT indexed FROM state").raw().all())).toEqual([[0]]);
  again.close();
});
