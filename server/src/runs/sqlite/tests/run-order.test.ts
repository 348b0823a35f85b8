import { describe, expect, test, vi } from "vitest";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import { toConditionsWithinTenant } from "../run-conditions.ts";
import { createFirstRunsSql } from "../run-order.ts";
import { chooseIndex } from "../run-slices.ts";
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
      const index = chooseIndex({ projectId: "p", filter, order, sort: "start" });
      const conditions = toConditionsWithinTenant(fixture.tenantId, filter);
      const plan = fixture.db
        .prepare(`EXPLAIN QUERY PLAN ${createFirstRunsSql(conditions, { index, order })}`)
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

describe("a page of one project", () => {
  /** The step of SQLite's plan that finds the runs of the page. */
  function explainPage(filter: RunFilter): string {
    const fixture = new FilterFixture();
    fixture.send({ post: [wireRun({ session_name: "only", tags: ["rare"] })] });
    const [[projectId] = []] = parseRows(
      fixture.db.prepare("SELECT id FROM projects").raw().all([]),
    );
    const prepare = vi.spyOn(fixture.db, "prepareRaw");
    fixture.query({ ...filter, projectIds: [String(projectId)] });
    const sql = prepare.mock.calls
      .map(([text]) => text)
      .find((text) => text.includes("ORDER BY r.start_us"));
    const values = Array.from({ length: (sql ?? "").split("?").length - 1 }, () => 1);
    const steps = fixture.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).raw().all(values);
    return String(parseRows(steps)[1]?.at(-1));
  }

  const check = (filter: string): RunFilter => ({
    runFilters: [new FilterFixture().check(filter)],
  });

  test.each<[string, RunFilter, RegExp]>([
    ["runs in their order", check("gt(prompt_tokens, 9)"), /SEARCH r USING .*INDEX runs_by_start/],
    [
      "errors in theirs",
      check('and(eq(status, "error"), gt(prompt_tokens, 9))'),
      /errors_by_start/,
    ],
    ["open runs in theirs", check('eq(status, "pending")'), /SEARCH r USING .*INDEX open_by_start/],
    ["runs with a tag by row number", check('has(tags, "rare")'), /SEARCH r USING INTEGER PRIMARY/],
  ])("is read from the index that has %s", (_, filter, step) => {
    expect(explainPage(filter)).toMatch(step);
  });
});
