import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../../dist/store/sqlite-store.js";
import { RequestError } from "../../model/errors.ts";
import { toPageJson, toRunJson } from "../serializers/run-json.ts";
import { toIso } from "../../http/wire-text.ts";
import { JsonBuilder } from "../../http/json-builder.ts";
import type { StoredRun } from "../run-row.ts";
import { temporaryFolder } from "../../../tests/support/running-server.ts";
import { StoreFixture } from "../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const run = (): StoredRun => ({
  row: {
    traceId: randomUUID(),
    id: randomUUID(),
    projectId: randomUUID(),
    name: "long",
    runType: "llm",
    startMicros: 1,
    endMicros: 2,
    hasError: false,
    parentRunId: null,
    dottedOrder: "",
    referenceExampleId: null,
    posted: true,
    patchBits: 0,
    measureState: "none",
  },
  tenantId: "",
  projectName: "",
  bodies: [],
  shareToken: null,
  cost: undefined,
  attachments: [],
  childRunIds: null,
  directChildRunIds: null,
});

test("writing a page ends soon after the limit of its query", () => {
  let written = 0;
  const selectView = () => {
    written += 1;
    return {};
  };
  const checkLimit = () => {
    if (written > 20) {
      throw new RequestError(408, "the query took longer than 1 ms");
    }
  };
  const runs = Array.from({ length: 1_000 }, run);
  expect(() => toPageJson(runs, { selectView, next: null, checkLimit })).toThrow("took longer");
  expect(written).toBeLessThan(30);
});

test("a reader thread returns a page as JSON, with the runs as they are returned one by one", async () => {
  const store = await openSqliteStore(await temporaryFolder());
  const fixture = new StoreFixture(store);
  const posted = Array.from({ length: 30 }, (_, at) =>
    wireRun({
      name: `step ${at} \u{1f600}`,
      inputs: { text: "x".repeat(at * 1_000), number: 1.0e300 },
      error: at % 2 === 0 ? "failed" : null,
      tags: ["a", "b"],
    }),
  );
  await fixture.send({ post: posted });
  const query = {
    filter: {},
    order: "asc",
    limit: 20,
    withChildren: false,
  } as const;
  const { tenantId } = fixture;
  const signer = { secret: new Uint8Array(32), baseUrl: "http://localhost" };
  const page = await store.read.runs.query(tenantId, query);
  const json = await store.read.runPages.query(tenantId, query, { signer });
  expect(json).toBeInstanceOf(Uint8Array);
  const parsed = JSON.parse(Buffer.from(json).toString()) as {
    runs: unknown[];
    cursors: { next: string };
  };
  expect(parsed.runs).toEqual(
    page.runs.map((one): unknown => JSON.parse(toRunJson(one).toString())),
  );
  expect(page.runs).toHaveLength(20);
  expect(typeof parsed.cursors.next).toBe("string");
  const [first] = page.runs;
  const slice = await store.read.runPages.search(
    tenantId,
    {
      projectId: first?.row.projectId ?? "",
      filter: {},
      sort: "start",
      order: "asc",
      limit: 20,
      scanLimit: 1_000,
    },
    new Set(["name", "tags", "error"]),
  );
  expect(slice.runs.map((item): unknown => JSON.parse(item))).toEqual(
    page.runs.map(({ row }) => ({
      id: row.id,
      name: row.name,
      tags: ["a", "b"],
      error: row.hasError ? "failed" : null,
    })),
  );
  expect(slice.nextPosition).toBeDefined();
  await store.close();
});

test("JSON is encoded the same whether it is short, long, ASCII or not", () => {
  for (const text of ["a", "é", "\u{1f600}", "\ud800", "日本"]) {
    for (const length of [1, 4_095, 4_096, 50_000]) {
      const builder = new JsonBuilder();
      builder.add(`"${text.repeat(length)}"`);
      expect(builder.toBuffer().equals(Buffer.from(`"${text.repeat(length)}"`))).toBe(true);
    }
  }
});

test("times are written with microseconds, before 1970 and at the ends of minutes, too", () => {
  const second = Date.parse("2026-11-21T10:11:59Z") * 1_000;
  expect(toIso(second)).toBe("2026-11-21T10:11:59.000000Z");
  expect(toIso(second + 999_999)).toBe("2026-11-21T10:11:59.999999Z");
  expect(toIso(second + 1_000_000)).toBe("2026-11-21T10:12:00.000000Z");
  expect(toIso(second - 50_000_000 + 7)).toBe("2026-11-21T10:11:09.000007Z");
  expect(toIso(-1)).toBe("1969-12-31T23:59:59.999999Z");
});
