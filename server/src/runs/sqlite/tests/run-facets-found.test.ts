import { dayMicros } from "../../../model/durations.ts";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkFilter } from "../../../filter/checker.ts";
import { runFields } from "../../../filter/fields.ts";
import { parseOneRun } from "../../ingest/parse-batch.ts";
import { toBatch } from "../../../otlp/to-batch.ts";
import { createReaders } from "../../../store/repositories.ts";
import { formatMigrations, openWriter } from "../../../store/schema.ts";
import { openDatabase } from "../../../storage/sqlite/connection.ts";
import { missingFacets } from "../../../../tests/support/facet-oracle.ts";
import { FilterFixture } from "../../../../tests/support/filter-fixture.ts";
import { otlpSpan, readSpans } from "../../../../tests/support/otlp-spans.ts";
import { temporaryFolder } from "../../../../tests/support/running-server.ts";
import { patchOf } from "../../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../../tests/support/wire-runs.ts";

const before1970 = (id = randomUUID()) => ({
  id,
  trace_id: id,
  dotted_order: `19690101T101112345678Z${id}`,
});

test("a run that moves to a time before 1970 is found there by its facets", () => {
  const fixture = new FilterFixture();
  const run = { ...before1970(), name: "moved", start_time: someMicros / 1_000, tags: ["a"] };
  fixture.send({ post: [run] });
  fixture.send({ patch: [patchOf(run, { start_time: null })] });
  expect(fixture.find('has(tags, "a")')).toEqual(["moved"]);
  fixture.send({ patch: [patchOf(run, { start_time: 0 })] });
  expect(fixture.find('has(tags, "a")')).toEqual(["moved"]);
});

test("the placeholder root of a span that has not arrived is found by its name and type", () => {
  const fixture = new FilterFixture();
  const spans = [otlpSpan({ id: 3, parent: 2, attributes: { "langsmith.span.kind": "llm" } })];
  fixture.writers.runs.apply(fixture.tenantId, toBatch(readSpans(spans)).batch);
  const roots = 'eq(run_type, "chain")';
  expect(fixture.find('neq(name, "x")')).toHaveLength(2);
  expect(fixture.find(roots)).toEqual(["span 3"]);
  expect(fixture.find(`and(eq(name, "span 3"), ${roots})`)).toEqual(["span 3"]);
});

test("a name and a type with a NUL stay unchanged when another field is patched", () => {
  const fixture = new FilterFixture();
  const run = wireRun({ name: "a\0b", run_type: "c\0d", tags: ["odd"] });
  fixture.send({ post: [run] });
  fixture.send({ patch: [patchOf(run, { end_time: someMicros / 1_000 + 5 })] });
  const found = [
    String.raw`eq(name, "a\u0000b")`,
    String.raw`eq(run_type, "c\u0000d")`,
    'eq(name, "a")',
    'eq(run_type, "c")',
  ].map((filter) => fixture.find(filter).length);
  expect(found).toEqual([1, 1, 0, 0]);
  expect(missingFacets(fixture.db)).toEqual([]);
});

test("a patch whose dotted order alone names another trace is rejected, and nothing of it is stored", () => {
  const fixture = new FilterFixture();
  const run = wireRun();
  fixture.send({ post: [run] });
  const { dotted_order, parent_run_id, trace_id } = wireRun({ id: run.id, parent: wireRun() });
  const { batch } = parseOneRun(
    Buffer.from(JSON.stringify({ dotted_order, parent_run_id, tags: ["lost"] })),
    "patch",
    { position: "optional", pathId: run.id },
  );
  expect(fixture.writers.runs.apply(fixture.tenantId, batch)).toEqual({
    accepted: 0,
    duplicates: 0,
    rejected: [
      {
        id: run.id,
        operation: "patch",
        reason: `run ${run.id} was received before in trace ${run.id}, not ${trace_id}`,
      },
    ],
  });
  expect(fixture.db.prepare("SELECT body FROM payloads").raw().all()).toHaveLength(1);
});

test("runs of a block are found by their tags while it is half deleted", async () => {
  const fixture = new FilterFixture();
  const start = someMicros - (someMicros % 100_000);
  const runs = Array.from({ length: 150 }, (_, index) =>
    wireRun({ micros: start + index, start_time: (start + index) / 1_000, tags: ["a"] }),
  );
  fixture.send({ post: runs });
  const { retention } = fixture.writers;
  /** Deletes the runs that started more than a day before a time. How many a step deletes, depends on its time. */
  const sweep = async (nowMicros: number): Promise<number> => {
    let deleted = 0;
    for (let step = 1; step > 0; deleted += step) {
      step = (await retention.sweep(nowMicros, null)).deleted;
    }
    return deleted;
  };
  await retention.set(fixture.tenantId, { projectId: null, days: 1 });
  expect(await sweep(start + dayMicros + 100)).toBe(100);
  expect(fixture.find('has(tags, "a")')).toHaveLength(50);
  expect(await sweep(start + 2 * dayMicros)).toBe(50);
  expect(fixture.db.prepare("SELECT * FROM run_facets").raw().all()).toEqual([]);
});

test("runs that an older version failed to index are found again", async () => {
  const path = join(await temporaryFolder(), "old.db");
  const old = openDatabase(path);
  const [tenantId, projectId, standIn, moved] = [
    randomUUID(),
    randomUUID(),
    randomUUID(),
    randomUUID(),
  ];
  const insert = (id: string, name: string, micros: number, posted: number) =>
    `INSERT INTO runs (trace_id, id, project_id, name, run_type, start_us, has_error, dotted_order, posted, patched)
     VALUES ('${id}', '${id}', '${projectId}', '${name}', 'chain', ${micros}, 0, '', ${posted}, 0);`;
  old.exec(`${formatMigrations.slice(0, 7).join("")} PRAGMA user_version = 7;
    INSERT INTO settings VALUES ('tenant_id', '${tenantId}');
    INSERT INTO projects (id, tenant_id, name_json, start_us) VALUES ('${projectId}', '${tenantId}', '"p"', 5);
    ${insert(standIn, "stand-in", someMicros, 0)} ${insert(moved, "moved", -150_000, 1)}
    INSERT INTO run_facets VALUES ('${projectId}', '*', -1);`);
  old.close();
  const db = openWriter(path);
  const { runs } = createReaders(db).runs.query(tenantId, {
    filter: { runFilters: [checkFilter('eq(run_type, "chain")', runFields)] },
    order: "asc",
    limit: 5,
    withChildren: false,
  });
  db.close();
  expect(runs.map(({ row }) => row.name)).toEqual(["moved", "stand-in"]);
});
