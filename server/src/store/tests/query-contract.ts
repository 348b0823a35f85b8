import { ChunkedSender } from "../../../tests/support/chunked-runs.ts";
import { randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import type { MeasuredRuns } from "../../storage/storage-use.ts";
import type { RunQuery } from "../../runs/run-query.ts";
import type { RunTestStore, StoreFixture } from "../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

/** What every storage engine must return for queries. `open` gives each test a tenant without rows. */
export function describeQueries(open: () => Promise<StoreFixture<RunTestStore>>): void {
  let fixture: StoreFixture<RunTestStore>;
  beforeEach(async () => {
    fixture = await open();
  });

  test("every filter excludes runs that do not match", async () => {
    const example = randomUUID();
    const root = wireRun({ name: "root", session_name: "p", run_type: "llm", micros: someMicros });
    const child = wireRun({
      name: "child",
      parent: root,
      session_name: "p",
      error: "boom",
      micros: someMicros + 1,
    });
    const other = wireRun({
      name: "other",
      session_name: "q",
      reference_example_id: example,
      micros: someMicros + 2,
    });
    await fixture.send({ post: [root, child, other] });
    const [p] = await fixture.store.read.projects.list(fixture.tenantId, {
      name: "p",
      limit: 1,
      offset: 0,
    });
    expect(await fixture.query({})).toEqual(["root", "child", "other"]);
    expect(await fixture.query({ projectIds: [p?.id ?? ""] })).toEqual(["root", "child"]);
    expect(await fixture.query({ projectIds: [] })).toEqual([]);
    expect(await fixture.query({ ids: [child.id, other.id] })).toEqual(["child", "other"]);
    expect(await fixture.query({ traceId: root.id })).toEqual(["root", "child"]);
    expect(await fixture.query({ parentRunId: root.id })).toEqual(["child"]);
    expect(await fixture.query({ parentRunId: randomUUID() })).toEqual([]);
    expect(await fixture.query({ runType: "llm" })).toEqual(["root"]);
    expect(await fixture.query({ referenceExampleIds: [example] })).toEqual(["other"]);
    expect(await fixture.query({ isRoot: true })).toEqual(["root", "other"]);
    expect(await fixture.query({ isRoot: false })).toEqual(["child"]);
    expect(await fixture.query({ hasError: true })).toEqual(["child"]);
    expect(await fixture.query({ hasError: false })).toEqual(["root", "other"]);
    expect(await fixture.query({ earliestStartMicros: someMicros + 1 })).toEqual([
      "child",
      "other",
    ]);
    expect(await fixture.query({ latestStartMicros: someMicros + 1 })).toEqual(["root", "child"]);
    expect(
      await fixture.query({ projectIds: [p?.id ?? ""], isRoot: true, hasError: false }),
    ).toEqual(["root"]);
  });

  test("text is found in names and payloads, case-insensitively, and is no pattern", async () => {
    await fixture.send({
      post: [
        wireRun({ name: "Alpha", micros: someMicros }),
        wireRun({ name: "b", inputs: { q: 'say "50%"\n' }, micros: someMicros + 1 }),
        wireRun({ name: "c'; DROP TABLE runs", micros: someMicros + 2 }),
      ],
    });
    expect(await fixture.query({ text: "alph" })).toEqual(["Alpha"]);
    expect(await fixture.query({ text: 'SAY "50%"\n' })).toEqual(["b"]);
    expect(await fixture.query({ text: "5_%" })).toEqual([]);
    expect(await fixture.query({ text: "'; drop" })).toEqual(["c'; DROP TABLE runs"]);
  });

  test("pages follow each other without gaps or repetitions, even for runs with the same start", async () => {
    const names = Array.from({ length: 25 }, (_, index) => `run-${index}`);
    await fixture.send({
      post: names.map((name, index) =>
        wireRun({ name, micros: someMicros + Math.floor(index / 4) }),
      ),
    });
    for (const order of ["asc", "desc"] as const) {
      const seen: string[] = [];
      let after: RunQuery["after"];
      do {
        // Sequential: a page needs the cursor of the previous one.
        const page = await fixture.store.read.runs.query(fixture.tenantId, {
          filter: {},
          order,
          limit: 7,
          withChildren: false,
          ...(after === undefined ? {} : { after }),
        });
        seen.push(...page.runs.map(({ row }) => row.name));
        after = page.nextPosition;
      } while (after !== undefined);
      expect(seen.toSorted()).toEqual(names.toSorted());
      const all = await fixture.query({}, { order });
      expect(seen).toEqual(all);
    }
  });

  test("a page that ends with the last run has no next one", async () => {
    await fixture.send({ post: [wireRun(), wireRun()] });
    const page = await fixture.store.read.runs.query(fixture.tenantId, {
      filter: {},
      order: "asc",
      limit: 2,
      withChildren: false,
    });
    expect(page.runs).toHaveLength(2);
    expect(page.nextPosition).toBeUndefined();
  });

  test("statistics count runs, and use latencies of ended runs only", async () => {
    const ends = [1, 2, 3, 4].map((seconds) => 1_795_255_872_345.678 + seconds * 1_000);
    await fixture.send({
      post: [...ends.map((end_time) => wireRun({ end_time })), wireRun({ error: "boom" })],
    });
    expect(await fixture.store.read.runs.readStatistics(fixture.tenantId, {})).toMatchObject({
      runCount: 5,
      errorCount: 1,
      latency: { count: 4, sum: 10_000_000, p50: 2_000_000, p99: 4_000_000 },
      lastStartMicros: someMicros,
    });
  });

  test("statistics of no runs are empty", async () => {
    expect(await fixture.store.read.runs.readStatistics(fixture.tenantId, {})).toMatchObject({
      runCount: 0,
      errorCount: 0,
      latency: { count: 0, sum: 0, p50: null, p99: null },
      lastStartMicros: null,
    });
  });

  test("all runs are measured in parts, with their payloads and attachments", async () => {
    const { storage } = fixture.store.read;
    /** Bytes of the fixture's tenant; other tests may have stored runs of other tenants. */
    const measure = async (limit: number): Promise<number> => {
      let sum = 0;
      let after: string | null = null;
      do {
        const part: MeasuredRuns = await storage.measureRuns({ after, limit });
        sum += part.tenants
          .filter(({ tenantId }) => tenantId === fixture.tenantId)
          .reduce((bytes, tenant) => bytes + tenant.bytes, 0);
        after = part.next;
      } while (after !== null);
      return sum;
    };
    expect(await measure(100_000)).toBe(0);
    const runs = [1, 2, 3].map(() => wireRun({ inputs: { text: "é".repeat(1_000) } }));
    await fixture.send({ post: runs });
    const bytes = await measure(100_000);
    expect(bytes).toBeGreaterThanOrEqual(3 * 2_000);
    expect(bytes).toBeLessThan(3 * 4_000);
    expect(await measure(2)).toBe(bytes);
    expect(await measure(1)).toBe(bytes);

    // A payload counts as a whole, also where it shares a text with others.
    const sender = new ChunkedSender(fixture.tenantId);
    const inputs = { text: "repeated ".repeat(4_000) };
    const root = wireRun({ inputs });
    for (const run of [root, wireRun({ parent: root, inputs })]) {
      await fixture.store.ingest(fixture.tenantId, sender.createBatch([{ run }]));
    }
    expect(await measure(100_000)).toBeGreaterThanOrEqual(bytes + 2 * 36_000);
  });

  test("projects are listed by name and in pages", async () => {
    await fixture.send({ post: ["c", "a", "b"].map((name) => wireRun({ session_name: name })) });
    const list = async (rest: { limit: number; offset: number; nameContains?: string }) =>
      (await fixture.store.read.projects.list(fixture.tenantId, rest)).map(({ name }) => name);
    expect(await list({ limit: 2, offset: 0 })).toEqual(["a", "b"]);
    expect(await list({ limit: 2, offset: 2 })).toEqual(["c"]);
    expect(await list({ limit: 5, offset: 0, nameContains: "B" })).toEqual(["b"]);
    expect(await fixture.store.read.projects.find(fixture.tenantId, randomUUID())).toBeUndefined();
  });

  test("descendants are listed in execution order", async () => {
    const root = wireRun();
    const late = wireRun({ parent: root, micros: someMicros + 20 });
    const early = wireRun({ parent: root, micros: someMicros + 10 });
    const deep = wireRun({ parent: early, micros: someMicros + 30 });
    await fixture.send({ post: [late, deep, root, early] });
    expect(await fixture.read(root.id)).toMatchObject({
      child_run_ids: [early.id, deep.id, late.id],
      direct_child_run_ids: [early.id, late.id],
    });
  });

  test("a share keeps its token until it is revoked", async () => {
    const run = wireRun();
    await fixture.send({ post: [run] });
    const token = await fixture.store.write.runs.share(fixture.tenantId, run.id);
    expect(await fixture.store.write.runs.share(fixture.tenantId, run.id)).toBe(token);
    expect((await fixture.store.read.runs.findShared(token))?.row.id).toBe(run.id);
    expect((await fixture.store.read.runs.find(fixture.tenantId, run.id))?.shareToken).toBe(token);
    await fixture.store.write.runs.unshare(fixture.tenantId, run.id);
    expect(await fixture.store.read.runs.findShared(token)).toBeUndefined();
    expect(await fixture.store.write.runs.share(fixture.tenantId, run.id)).not.toBe(token);
    await expect(
      fixture.store.write.runs.share(fixture.tenantId, randomUUID()),
    ).rejects.toMatchObject({ status: 404, message: "Run not found" });
  });
}
