import { expect, onTestFinished, test } from "vitest";
import { openTemporaryStore } from "../../../../dist/store/sqlite-store.js";
import type { RunPosition } from "../../run-query.ts";
import { toRunJson } from "../../serializers/run-json.ts";
import { patchOf, StoreFixture } from "../../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../../tests/support/wire-runs.ts";

const openFixture = async (): Promise<StoreFixture> => {
  const store = await openTemporaryStore();
  onTestFinished(() => store.close());
  return new StoreFixture(store);
};

/** Creates a root and its children, in pairs with the same start. */
function createTrace(count: number) {
  const root = wireRun({ name: "0" });
  const children = Array.from({ length: count - 1 }, (_, index) =>
    wireRun({ name: String(index + 1), parent: root, micros: someMicros + 10 + (index >> 1) }),
  );
  return { traceId: root.id, runs: [root, ...children] };
}

interface PageQuery {
  readonly traceId: string;
  readonly order: "asc" | "desc";
  readonly limit: number;
}

/** Reads one page at a time, so that the test can write in between. */
async function* readPages({ store, tenantId }: StoreFixture, { traceId, order, limit }: PageQuery) {
  let after: RunPosition | undefined;
  do {
    const page = await store.read.runs.query(tenantId, {
      filter: { traceId },
      order,
      limit,
      withChildren: false,
      ...(after === undefined ? {} : { after }),
    });
    yield page.runs.map(({ row }) => row.id);
    after = page.nextPosition;
  } while (after !== undefined);
}

const listIds = async (pages: AsyncIterable<readonly string[]>): Promise<readonly string[]> => {
  const ids: string[] = [];
  for await (const page of pages) {
    ids.push(...page);
  }
  return ids;
};

test("pages of a trace follow one another in either order, whatever others read in between", async () => {
  const fixture = await openFixture();
  const { traceId, runs } = createTrace(23);
  await fixture.send({ post: runs });
  const whole = await listIds(readPages(fixture, { traceId, order: "asc", limit: 100 }));
  expect(new Set(whole)).toEqual(new Set(runs.map(({ id }) => id)));
  const up = readPages(fixture, { traceId, order: "asc", limit: 3 });
  const down = readPages(fixture, { traceId, order: "desc", limit: 4 });
  const wide = readPages(fixture, { traceId, order: "asc", limit: 6 });
  const [ups, downs, wides] = await Promise.all([listIds(up), listIds(down), listIds(wide)]);
  expect(ups).toEqual(whole);
  expect(downs).toEqual(whole.toReversed());
  expect(wides).toEqual(whole);
});

test("more traces can be read at once than have a cached order", async () => {
  const fixture = await openFixture();
  const traces = Array.from({ length: 9 }, () => createTrace(7));
  await fixture.send({ post: traces.flatMap(({ runs }) => runs) });
  const read = await Promise.all(
    traces.map(({ traceId }) => listIds(readPages(fixture, { traceId, order: "asc", limit: 2 }))),
  );
  expect(read.map((ids) => new Set(ids).size)).toEqual(traces.map(() => 7));
});

test("a run that arrives between two pages is on the page where it belongs", async () => {
  const fixture = await openFixture();
  const { traceId, runs } = createTrace(8);
  await fixture.send({ post: runs });
  const pages = readPages(fixture, { traceId, order: "asc", limit: 4 });
  const first = (await pages.next()).value ?? [];
  const late = wireRun({ name: "late", parent: runs[0]!, micros: someMicros + 1_000 });
  await fixture.send({ post: [late] });
  const rest = await listIds(pages);
  expect([...first, ...rest]).toHaveLength(9);
  expect(rest.at(-1)).toBe(late.id);
});

test("runs deleted between two pages leave no gap and do not end the list early", async () => {
  const fixture = await openFixture();
  const { traceId, runs } = createTrace(12);
  await fixture.send({ post: [...runs, wireRun({ session_name: "stays" })] });
  const pages = readPages(fixture, { traceId, order: "asc", limit: 4 });
  await pages.next();
  const [project] = await fixture.store.read.projects.list(fixture.tenantId, {
    name: "default",
    limit: 1,
    offset: 0,
  });
  await fixture.store.write.projects.delete(fixture.tenantId, project!.id);
  expect(await listIds(pages)).toEqual([]);
});

test("another tenant who names the trace gets none of its pages", async () => {
  const fixture = await openFixture();
  const { traceId, runs } = createTrace(6);
  await fixture.send({ post: runs });
  const other = await fixture.store.write.tenants.create({ handle: "other", displayName: "o" });
  const neighbour = new StoreFixture(fixture.store, other.id);
  await listIds(readPages(fixture, { traceId, order: "asc", limit: 2 }));
  expect(await listIds(readPages(neighbour, { traceId, order: "asc", limit: 2 }))).toEqual([]);
});

test("pages contain long and short payloads of posts and patches, byte for byte, in the order of the runs", async () => {
  const fixture = await openFixture();
  const { traceId, runs } = createTrace(6);
  // Lengths around the size up to which payloads are read together; multi-byte characters, a NUL, half of a surrogate
  // pair.
  const texts = [
    "a",
    "é\u0000\ud800",
    "b".repeat(16_400),
    "",
    "ü".repeat(9_000),
    "c".repeat(300_000),
  ];
  await fixture.send({
    post: runs.map((run, index) => ({ ...run, inputs: { text: texts[index] } })),
  });
  await fixture.send({
    patch: runs.map((run, index) => patchOf(run, { outputs: { text: texts.at(-1 - index) } })),
  });
  await fixture.send({ patch: [patchOf(runs[1]!, { outputs: { text: "the last" } })] });
  const page = await fixture.store.read.runs.query(fixture.tenantId, {
    filter: { traceId },
    order: "asc",
    limit: 100,
    withChildren: false,
  });
  const shown = page.runs.map(
    (run) =>
      JSON.parse(toRunJson(run, { select: new Set(["inputs", "outputs"]) }).toString()) as object,
  );
  expect(shown).toEqual(
    page.runs.map(({ row: { id, name } }) => ({
      id,
      inputs: { text: texts[Number(name)] },
      outputs: { text: name === "1" ? "the last" : texts.at(-1 - Number(name)) },
    })),
  );
  expect(page.runs).toHaveLength(runs.length);
});
