import { describe, expect, test } from "vitest";
import { parseRows } from "../src/storage/sqlite/rows.ts";
import { toConditionsWithin } from "../src/runs/sqlite/run-conditions.ts";
import { firstRunsSql } from "../src/runs/sqlite/run-order.ts";
import type { RunFilter, RunPosition } from "../src/runs/run-query.ts";
import { FilterDesk } from "./support/filter-desk.ts";
import { someMicros, wireRun } from "./support/wire-runs.ts";

describe("the latest runs of several projects", () => {
  /** 60 runs, two at each start time, assigned to 5 projects in turn, four at a time. */
  const fill = (): FilterDesk => {
    const desk = new FilterDesk();
    const post = Array.from({ length: 60 }, (_, index) =>
      wireRun({
        name: `run ${index}`,
        micros: someMicros + Math.floor(index / 2),
        session_name: `project ${Math.floor(index / 4) % 5}`,
        tags: [index % 3 === 0 ? "third" : "other"],
      }),
    );
    desk.send({ post });
    return desk;
  };

  const pages = (desk: FilterDesk, filter: RunFilter, order: "asc" | "desc"): string[][] => {
    const all: string[][] = [];
    let after: RunPosition | undefined;
    do {
      const page = desk.readers.runs.query(desk.tenantId, {
        filter,
        order,
        limit: 7,
        withChildren: false,
        ...(after === undefined ? {} : { after }),
      });
      all.push(page.runs.map(({ row }) => `${row.startMicros} ${row.id}`));
      after = page.next;
    } while (after !== undefined);
    return all;
  };

  const expected = (desk: FilterDesk, order: "asc" | "desc", where = "1"): string[] => {
    const rows = desk.db
      .prepare(
        `SELECT start_us || ' ' || id FROM runs WHERE ${where} ORDER BY start_us ${order}, id ${order}`,
      )
      .raw();
    return parseRows(rows.all([])).map(([text]) => String(text));
  };

  test.each(["asc", "desc"] as const)("come in pages without a gap or a repeat, %s", (order) => {
    const desk = fill();
    const found = pages(desk, {}, order);
    expect(found.flat()).toEqual(expected(desk, order));
    expect(found.map((page) => page.length)).toEqual([...Array.from({ length: 8 }, () => 7), 4]);
  });

  test("match the filter, in the projects that it names", () => {
    const desk = fill();
    const names = parseRows(
      desk.db.prepare("SELECT id FROM projects ORDER BY name_json").raw().all([]),
    );
    const projectIds = names.slice(0, 3).map(([id]) => String(id));
    const filter = { projectIds: [...projectIds, ...projectIds], text: "third" };
    const where = `project_id IN (${projectIds.map((id) => `'${id}'`).join(", ")}) AND id IN (SELECT id FROM payloads WHERE body LIKE '%third%')`;
    expect(expected(desk, "desc", where)).toHaveLength(12);
    expect(pages(desk, filter, "desc").flat()).toEqual(expected(desk, "desc", where));
  });

  test("are none of another tenant's", () => {
    const desk = fill();
    const other = desk.writers.tenants.create({ handle: "other", displayName: "Other" });
    desk.send({ post: [wireRun({ session_name: "a" }), wireRun({ session_name: "b" })] }, other.id);
    expect(pages(desk, {}, "desc").flat()).toHaveLength(60);
    const ids = desk.db
      .prepare("SELECT id FROM projects WHERE tenant_id = ?")
      .raw()
      .all([other.id]);
    const projectIds = parseRows(ids).map(([id]) => String(id));
    expect(projectIds).toHaveLength(2);
    expect(pages(desk, { projectIds }, "desc")).toEqual([[]]);
  });

  test.each<[string, RunFilter]>([
    ["runs", {}],
    ["roots", { isRoot: true }],
    ["runs that an error ended", { hasError: true }],
    ["runs by a filter", { runFilters: [new FilterDesk().check('eq(run_type, "llm")')] }],
  ])("of each project are read in order: %s are not sorted", (_, filter) => {
    const desk = fill();
    for (const order of ["asc", "desc"] as const) {
      const conditions = toConditionsWithin(desk.tenantId, filter);
      const plan = desk.db.prepare(`EXPLAIN QUERY PLAN ${firstRunsSql(conditions, order)}`).raw();
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
