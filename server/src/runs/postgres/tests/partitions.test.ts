import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPglite, openRunStore } from "../../../../tests/support/postgres-run-store.ts";
import type { PostgresRunStore } from "../../../../tests/support/postgres-run-store.ts";
import type { PgliteClient } from "../../../../tests/support/repository-engines.ts";
import { StoreFixture } from "../../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../../tests/support/wire-runs.ts";
import { Partitions, toWeek } from "../partitions.ts";

const weekMicros = 7 * 86_400_000_000;

let client: PgliteClient;
let store: PostgresRunStore;
beforeAll(async () => {
  client = await openPglite();
  store = openRunStore(client);
}, 60_000);
afterAll(() => client.close());

/** The partition in which a run is stored. */
async function findPartition(id: string): Promise<string | undefined> {
  const { rows } = await store.db.query<{ readonly name: string }>(
    "SELECT tableoid::regclass::text AS name FROM runs WHERE id = $1",
    [id],
  );
  return rows[0]?.name;
}

async function listPartitions(): Promise<readonly string[]> {
  const { rows } = await store.db.query<{ readonly name: string }>(
    "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'runs'::regclass ORDER BY 1",
  );
  return rows.map(({ name }) => name);
}

test("a run is stored in the partition of its root's week, before 1970 as well", async () => {
  const fixture = new StoreFixture(store, randomUUID());
  const root = wireRun({ name: "root" });
  const child = wireRun({ parent: root, name: "child", micros: someMicros + 2 * weekMicros });
  const old = wireRun({ name: "old", micros: -3 * weekMicros });
  await fixture.send({ post: [root, child, old] });
  const week = toWeek(someMicros);
  expect(await findPartition(root.id)).toBe(`runs_w${week}`);
  expect(await findPartition(child.id)).toBe(`runs_w${week}`);
  expect(await findPartition(old.id)).toBe("runs_m3");
  expect(await fixture.query({ traceId: root.id })).toEqual(["root", "child"]);
  expect(await fixture.query({})).toEqual(["old", "root", "child"]);
});

test("a run that was patched before it was posted moves to the partition of its root", async () => {
  const fixture = new StoreFixture(store, randomUUID());
  const run = wireRun({ micros: someMicros - 20 * weekMicros, name: "late" });
  await fixture.sendOne("patch", { outputs: { a: 1 } }, run.id);
  expect(await findPartition(run.id)).toBe(`runs_w${toWeek(Date.now() * 1_000)}`);
  await fixture.send({ post: [run] });
  expect(await findPartition(run.id)).toBe(`runs_w${toWeek(someMicros) - 20}`);
  expect(await fixture.read(run.id)).toMatchObject({ name: "late", outputs: { a: 1 } });
});

test("a partition without runs is dropped, unless it is of this week, and created again", async () => {
  const fixture = new StoreFixture(store, randomUUID());
  const micros = someMicros - 40 * weekMicros;
  const name = `runs_w${toWeek(micros)}`;
  const run = wireRun({ micros });
  await fixture.send({ post: [run] });
  const partitions = new Partitions(store.db);
  const nowMicros = someMicros + weekMicros;
  await store.transact(() => partitions.ensureAhead(nowMicros));
  await store.transact(() => partitions.dropEmpty(nowMicros));
  expect(await listPartitions()).toContain(name);
  await store.write.runs.deleteTrees(fixture.tenantId, [run.id]);
  await store.transact(() => partitions.dropEmpty(nowMicros + 3_600_000_001));
  const left = await listPartitions();
  expect(left).not.toContain(name);
  expect(left).toContain(`runs_w${toWeek(nowMicros)}`);
  // A server that has cached the dropped partition stores the run in the default partition.
  await fixture.send({ post: [wireRun({ micros, name: "again" })] });
  expect(await fixture.query({})).toEqual(["again"]);
});
