import { describe, expect, test } from "vitest";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import { toConditionsWithinTenant } from "../run-conditions.ts";
import { createFirstRunsSql } from "../run-order.ts";
import type { RunFilter, RunPosition } from "../../run-query.ts";
import { FilterFixture } from "../../../../tests/support/filter-fixture.ts";
import { someMicros, wireRun } from "../../../../tests/support/wire-runs.ts";

describe("the latest runs of several projects", () => {
  /** 60 runs, two at each start time, assigned to 5 projects in turn, four at a time. */
  const fill = (): FilterFixture => {
    const fixture = new FilterFixture();
    const post = Array.from({ length: 60 }, (_, index) =>
      wireRun({
        name: `run ${index}`,
        micros: someMicros + Math.floor(index / 2),
        session_name: `project ${Math.floor(index / 4) % 5}`,
        tags: [index % 3 === 0 ? "third" : "other"],
      }),
    );
    fixture.send({ post });
    return fixture;
  };

  const pages = (fixture: FilterFixture, filter: RunFilter, order: "asc" | "desc"): string[][] => {
    const all: string[][] = [];
    let after: RunPosition | undefined;
    do {
      const page = fixture.readers.runs.query(fixture.tenantId, {
        filter,
        order,
        limit: 7,
        withChildren: false,
        ...(after === undefined ? {} : { after }),
      });
      all.push(page.runs.map(({ row }) => `${row.startMicros} ${row.id}`));
      after = page.nextPosition;
    } while (after !== undefined);
    return all;
  };

  const expected = (fixture: FilterFixture, order: "asc" | "desc", where = "1"): string[] => {
    const rows = fixture.db
      .prepare(
        `SELECT start_us || ' ' || id FROM runs WHERE ${where} ORDER BY start_us ${order}, id ${order}`,
      )
      .raw();
    return parseRows(rows.all([])).map(([text]) => String(text));
  };

  test.each(["asc", "desc"] as const)("come in pages without a gap or a repeat, %s", (order) => {
    const fixture = fill();
    const found = pages(fixture, {}, order);
    expect(found.flat()).toEqual(expected(fixture, order));
    expect(found.map((page) => page.length)).toEqual([...Array.from({ length: 8 }, () => 7), 4]);
  });

  test("match the filter, in the projects that it names", () => {
    const fixture = fill();
    const names = parseRows(
      fixture.db.prepare("SELECT id FROM projects ORDER BY name_json").raw().all([]),
    );
    const projectIds = names.slice(0, 3).map(([id]) => String(id));
    const filter = { projectIds: [...projectIds, ...projectIds], text: "third" };
    const where = `project_id IN (${projectIds.map((id) => `'${id}'`).join(", ")}) AND id IN (SELECT id FROM payloads WHERE body LIKE '%third%')`;
    expect(expected(fixture, "desc", where)).toHaveLength(12);
    expect(pages(fixture, filter, "desc").flat()).toEqual(expected(fixture, "desc", where));
  });

  test("exclude those of other tenants", async () => {
    const fixture = fill();
    const other = await fixture.writers.tenants.create({ handle: "other", displayName: "Other" });
    fixture.send(
      { post: [wireRun({ session_name: "a" }), wireRun({ session_name: "b" })] },
      other.id,
    );
    expect(pages(fixture, {}, "desc").flat()).toHaveLength(60);
    const ids = fixture.db
      .prepare("SELECT id FROM projects WHERE tenant_id = ?")
      .raw()
      .all([other.id]);
    const projectIds = parseRows(ids).map(([id]) => String(id));
    expect(projectIds).toHaveLength(2);
    expect(pages(fixture, { projectIds }, "desc")).toEqual([[]]);
  });

  test.each<[string, RunFilter]>([
    ["runs", {}],
    ["roots", { isRoot: true }],
    ["runs that an error ended", { hasError: true }],
    ["runs by a filter", { runFilters: [new FilterFixture().check('eq(run_type, "llm")')] }],
  ])("of each project are read in order: %s are not sorted", (_, filter) => {
    const fixture = fill();
    for (const order of ["asc", "desc"] as const) {
      const conditions = toConditionsWithinTenant(fixture.tenantId, filter);
      const plan = fixture.db
        .prepare(`EXPLAIN QUERY PLAN ${createFirstRunsSql(conditions, order)}`)
        .raw();
      const steps = parseRows(plan.all(["p", 1, ...conditions.values, 50])).map((row) =>
        row.at(-1),
      );
      expect(steps.join("\n")).toMatch(
        /SEARCH r USING .*INDEX (?:runs|roots|errors)_by_start \(project_id=\? AND start_us[<>]\?\)/,
      );
      expect(steps.join("\n")).not.toContain("B-TREE");
    }
  });
});
