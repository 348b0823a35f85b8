import { join } from "node:path";
import * as fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { toBatch } from "../to-batch.ts";
import { createReaders, createWriters } from "../../store/repositories.ts";
import { openWriter } from "../../store/schema.ts";
import { openReader, readDefaultTenantId } from "../../storage/sqlite/open-database.ts";
import type { RunRow } from "../../runs/run-row.ts";
import {
  otlpSpan,
  readSpans,
  spanIdOf,
  spanUuid,
  traceUuid,
} from "../../../tests/support/otlp-spans.ts";
import type { SpanInit } from "../../../tests/support/otlp-spans.ts";
import { temporaryFolder } from "../../../tests/support/running-server.ts";

/** The store's readers and writers, on this thread. */
async function openFixture() {
  const file = join(await temporaryFolder(), "millrace.db");
  const db = openWriter(file);
  const writers = createWriters(db);
  const tenantId = readDefaultTenantId(db);
  const readers = createReaders(openReader(file));
  const send = (spans: readonly SpanInit[], tenant = tenantId, project?: string) =>
    writers.runs.apply(tenant, toBatch(readSpans(spans.map(otlpSpan)), { project }).batch);
  const rowsOf = (tenant = tenantId, traceId = traceUuid): readonly RunRow[] => {
    const query = { order: "asc", limit: 1_000, withChildren: false } as const;
    return readers.runs
      .query(tenant, { ...query, filter: { traceId } })
      .runs.map(({ row }) => row)
      .toSorted((a, b) => (a.dottedOrder < b.dottedOrder ? -1 : 1));
  };
  return { db, writers, readers, tenantId, send, rowsOf };
}

let fixture: Awaited<ReturnType<typeof openFixture>>;
beforeEach(async () => {
  fixture = await openFixture();
});

const remote = { flags: 0x300 };

/** The tree as text: `a(b(c),d)`; each run is shown by the end of its id, the trace's root by `T`. */
function shape(rows: readonly RunRow[]): string {
  const nameOf = ({ id, traceId }: RunRow): string =>
    id === traceId ? "T" : String(Number.parseInt(id.slice(-4), 16));
  const below = (parentId: string | null): string =>
    rows
      .filter((row) => row.parentRunId === parentId)
      .map((row) => {
        const children = below(row.id);
        return nameOf(row) + (children === "" ? "" : `(${children})`);
      })
      .join(",");
  return below(null);
}

/** Checks what must hold for all runs, whichever spans arrived. */
function expectConsistent(rows: readonly RunRow[]): void {
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const row of rows) {
    const parent = row.parentRunId === null ? undefined : byId.get(row.parentRunId);
    const prefix = parent === undefined ? "" : `${parent.dottedOrder}.`;
    expect(row.dottedOrder.startsWith(prefix)).toBe(true);
    expect(row.dottedOrder.slice(prefix.length)).toHaveLength(58);
    expect(row.dottedOrder.endsWith(row.id)).toBe(true);
    expect(row.dottedOrder.slice(22, 58)).toBe(row.traceId);
  }
}

test("the root run has the id of the trace, and its child that of the span", () => {
  fixture.send([{ id: 1 }, { id: 2, parent: 1 }]);
  const [root, child] = fixture.rowsOf();
  expect(root).toMatchObject({ id: traceUuid, traceId: traceUuid, parentRunId: null });
  expect(child).toMatchObject({
    id: spanUuid(spanIdOf(2)),
    traceId: traceUuid,
    parentRunId: traceUuid,
  });
});

test("children that arrive before their root, each in a separate request, end up below it", () => {
  fixture.send([{ id: 4, parent: 3 }]);
  expect(shape(fixture.rowsOf())).toBe("T(4)");
  fixture.send([{ id: 3, parent: 2 }]);
  expect(shape(fixture.rowsOf())).toBe("T(3(4))");
  fixture.send([{ id: 2, parent: 1 }]);
  fixture.send([{ id: 1 }]);
  expect(shape(fixture.rowsOf())).toBe("T(2(3(4)))");
  expectConsistent(fixture.rowsOf());
  expect(fixture.rowsOf()[0]).toMatchObject({ name: "span 1", posted: true });
});

test("the tree is the same for any order of spans and requests", async () => {
  const trees = fc
    .array(fc.nat(), { minLength: 0, maxLength: 9 })
    .map((picks) => picks.map((pick, index) => (pick % (index + 1)) + 1));
  await fc.assert(
    fc.asyncProperty(
      trees,
      fc.array(fc.nat(3), { minLength: 10, maxLength: 10 }),
      fc.infiniteStream(fc.nat()),
      fc.boolean(),
      async (parents, requests, shuffles, isRemote) => {
        const spans: SpanInit[] = [
          { id: 1 },
          ...parents.map((parent, index) => ({
            id: index + 2,
            parent,
            ...(isRemote ? { rest: remote } : {}),
          })),
        ];
        const expected = await openFixture();
        expected.send(spans);
        const found = await openFixture();
        const shuffled = spans
          .map((span) => [shuffles.next().value as number, span] as const)
          .toSorted(([a], [b]) => a - b);
        for (const request of [0, 1, 2, 3]) {
          found.send(shuffled.map(([, span]) => span).filter((_, at) => requests[at] === request));
          expectConsistent(found.rowsOf());
        }
        const placesOf = (rows: readonly RunRow[]) =>
          rows.map(({ projectId: _, patchBits: _bits, ...place }) => place);
        expect(placesOf(found.rowsOf())).toEqual(placesOf(expected.rowsOf()));
      },
    ),
    { numRuns: 40 },
  );
}, 60_000);

test("the same span twice is one run, in one request and in two", () => {
  const spans = [{ id: 1 }, { id: 2, parent: 1 }];
  expect(fixture.send([...spans, ...spans])).toMatchObject({ accepted: 2, duplicates: 2 });
  expect(fixture.send(spans)).toMatchObject({ accepted: 0, duplicates: 2, rejected: [] });
  expect(shape(fixture.rowsOf())).toBe("T(2)");
});

describe("a trace without its root", () => {
  test("has a placeholder as its root, as long as there are runs below it", () => {
    fixture.send([{ id: 3, parent: 9 }]);
    fixture.send([{ id: 2, parent: 8 }]);
    expect(shape(fixture.rowsOf())).toBe("T(2,3)");
    const [top, first, second] = fixture.rowsOf();
    expect(top).toMatchObject({
      name: "span 3",
      posted: false,
      startMicros: first?.startMicros,
      endMicros: second?.endMicros,
    });
  });

  test("has its only entry span, called by another process, as its root", () => {
    fixture.send([{ id: 3, parent: 2 }]);
    fixture.send([{ id: 2, parent: 9, rest: remote }]);
    expect(shape(fixture.rowsOf())).toBe("T(3)");
    expect(fixture.rowsOf()[0]).toMatchObject({ name: "span 2", posted: true });
  });

  test("may have several entry spans next to each other", () => {
    fixture.send([
      { id: 2, parent: 9, rest: remote },
      { id: 3, parent: 2 },
    ]);
    fixture.send([{ id: 5, parent: 9, rest: remote }]);
    expect(shape(fixture.rowsOf())).toBe("T(2(3),5)");
    expectConsistent(fixture.rowsOf());
    expect(fixture.rowsOf()[0]).toMatchObject({ posted: false });
  });

  test("gets a root that arrives late; the entry span moves below its parent", () => {
    fixture.send([
      { id: 3, parent: 2, rest: remote },
      { id: 4, parent: 3 },
    ]);
    fixture.send([{ id: 2, parent: 1 }]);
    fixture.send([{ id: 1 }]);
    expect(shape(fixture.rowsOf())).toBe("T(2(3(4)))");
    expectConsistent(fixture.rowsOf());
    expect(fixture.readers.runs.find(fixture.tenantId, spanUuid(spanIdOf(3)))?.bodies).toHaveLength(
      1,
    );
  });
});

test("several roots are siblings below a placeholder, whichever arrives first", () => {
  fixture.send([{ id: 1 }, { id: 2, parent: 1 }]);
  fixture.send([{ id: 5 }, { id: 6, parent: 5 }]);
  expect(shape(fixture.rowsOf())).toBe("T(1(2),5(6))");
  fixture.send([{ id: 7 }]);
  expect(shape(fixture.rowsOf())).toBe("T(1(2),5(6),7)");
  expectConsistent(fixture.rowsOf());
});

test("a span marked as a root is one, whatever parent it names", () => {
  fixture.send([{ id: 2, parent: 1, attributes: { "langsmith.is_root": true } }]);
  expect(fixture.rowsOf()).toMatchObject([{ id: traceUuid, parentRunId: null, posted: true }]);
});

test("a span whose parent was left out is placed below its nearest ancestor that was sent", () => {
  const named = { "langsmith.span.parent_id": `00000000-0000-0000-0000-${"1".padStart(12, "0")}` };
  fixture.send([{ id: 1 }, { id: 3, parent: 2, attributes: named }]);
  expect(shape(fixture.rowsOf())).toBe("T(3)");
});

test("spans that name each other in a cycle are all stored", () => {
  fixture.send([{ id: 1, parent: 3 }]);
  fixture.send([{ id: 2, parent: 1 }]);
  fixture.send([{ id: 3, parent: 2 }]);
  expect(fixture.rowsOf()).toHaveLength(4);
  expectConsistent(fixture.rowsOf());
});

test("a chain of spans of any length has at most 128 levels", () => {
  const spans = Array.from({ length: 300 }, (_, index) =>
    index === 0 ? { id: 1 } : { id: index + 1, parent: index },
  );
  fixture.send(spans.slice(150));
  fixture.send(spans.slice(0, 150));
  const rows = fixture.rowsOf();
  expect(rows).toHaveLength(300);
  expectConsistent(rows);
  const levels = rows.map(({ dottedOrder }) => dottedOrder.split(".").length);
  expect(Math.max(...levels)).toBe(129);
});

describe("the project", () => {
  const projectOf = (name: string): string | undefined =>
    fixture.rowsOf().find((row) => row.name === name)?.projectId;

  test("is that of the parent if a span names none, even if the parent arrives later", async () => {
    const attributes = { "langsmith.trace.session_name": "mill" };
    fixture.send([{ id: 3, parent: 2 }]);
    fixture.send([{ id: 2, parent: 1 }]);
    fixture.send([{ id: 1, attributes }]);
    fixture.send([{ id: 4, parent: 1 }]);
    const [project] = await fixture.readers.projects.list(fixture.tenantId, {
      name: "mill",
      limit: 1,
      offset: 0,
    });
    expect(project?.id).toBeDefined();
    expect(fixture.rowsOf().map(({ projectId }) => projectId)).toEqual(
      fixture.rowsOf().map(() => project?.id),
    );
  });

  test("is the one that a span names", () => {
    const attributes = { "langsmith.trace.session_name": "other" };
    fixture.send([{ id: 2, parent: 1, attributes }, { id: 1 }]);
    expect(projectOf("span 2")).not.toBe(projectOf("span 1"));
  });

  test("deletes its spans when it is deleted; they can be sent again", async () => {
    fixture.send([{ id: 1 }, { id: 2, parent: 1 }]);
    const { projects } = fixture.writers;
    (await projects.delete(fixture.tenantId, projectOf("span 1") ?? "")).finish();
    expect(fixture.db.prepare("SELECT count(*) FROM spans").raw().all()).toEqual([[0]]);
    expect(fixture.send([{ id: 2, parent: 1 }])).toMatchObject({ accepted: 1 });
    expect(shape(fixture.rowsOf())).toBe("T(2)");
  });
});

test("a trace that two tenants send is separate for each of them", async () => {
  const { id: other } = await fixture.writers.tenants.create({
    handle: "other",
    displayName: "Other",
  });
  const spans = [{ id: 2, parent: 1 }, { id: 1 }];
  fixture.send(spans);
  expect(fixture.send(spans, other)).toMatchObject({ accepted: 2, rejected: [] });
  expect(fixture.send(spans, other)).toMatchObject({ accepted: 0, duplicates: 2 });
  expect(shape(fixture.rowsOf())).toBe("T(2)");
  const theirs = fixture.rowsOf(other);
  expect(theirs.map(({ name }) => name)).toEqual(["span 1", "span 2"]);
  expect(theirs.map(({ id }) => id)).toEqual(fixture.rowsOf().map(({ id }) => id));
  expectConsistent(theirs);
  fixture.send([{ id: 3, parent: 2 }], other);
  expect(shape(fixture.rowsOf(other))).toBe("T(2(3))");
  expect(shape(fixture.rowsOf())).toBe("T(2)");
});

test("deleting a run of another client deletes the spans below it, and their descendants", () => {
  const stamp = "20261121T101112345678Z";
  const root = "0195d3a2-0000-7000-8000-00000000000a";
  const own = "0195d3a2-0000-7000-8000-00000000000b";
  fixture.send([{ id: 3, parent: 2 }]);
  fixture.send([
    {
      id: 2,
      parent: 1,
      attributes: { "langsmith.span.dotted_order": `${stamp}${root}.${stamp}${own}` },
    },
  ]);
  const rows = fixture.rowsOf(fixture.tenantId, root);
  expect(rows.map(({ name, parentRunId }) => [name, parentRunId])).toEqual([
    ["span 2", root],
    ["span 3", own],
  ]);
  expect(fixture.rowsOf()).toEqual([]);
  expect(fixture.readers.runs.find(fixture.tenantId, spanUuid(spanIdOf(3)))?.bodies).toHaveLength(
    1,
  );
});
