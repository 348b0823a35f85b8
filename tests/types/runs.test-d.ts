import { expectTypeOf, test } from "vitest";
import type {
  Client,
  ListRuns,
  Pages,
  Run,
  RunField,
  RunShare,
  RunStats,
  SelectedRun,
} from "../../src/main/index.ts";

declare const runs: Client["runs"];
declare const signal: AbortSignal;
declare const fields: readonly RunField[];
const id = "0f0e0d0c-0b0a-4908-8706-050403020100";

test("runs are one or by page", () => {
  expectTypeOf(runs.read(id, { withChildRuns: true })).toEqualTypeOf<Promise<Run>>();
  expectTypeOf(runs.readShared("https://h.test/public/t/r")).toEqualTypeOf<Promise<Run>>();
  expectTypeOf(runs.list()).toEqualTypeOf<Pages<Run>>();
  expectTypeOf(runs.share(id, { signal })).toEqualTypeOf<Promise<RunShare>>();
  expectTypeOf(runs.unshare(id)).toEqualTypeOf<Promise<void>>();
});

test("runs with selected fields have only these and their id for certain", async () => {
  const selected = runs.list({ projectNames: ["p"], select: ["inputs", "runType"] });
  expectTypeOf(selected).toEqualTypeOf<Pages<SelectedRun<"inputs" | "runType">>>();
  for await (const run of selected) {
    expectTypeOf(run.id).toEqualTypeOf<string>();
    expectTypeOf(run.runType).toEqualTypeOf<string>();
    expectTypeOf(run.name).toEqualTypeOf<string | undefined>();
    expectTypeOf(run.inputs).toEqualTypeOf<Run["inputs"]>();
    // @ts-expect-error the name was not selected
    const named: Run = run;
    void named;
  }
  // Of fields that are known only when the program runs, none is certain.
  const [some] = await runs.list({ select: fields }).toArray();
  expectTypeOf(some?.name).toEqualTypeOf<string | undefined>();
  expectTypeOf(runs.list({ select: undefined })).toEqualTypeOf<Pages<Run>>();
  const filter: ListRuns = { isRoot: true };
  expectTypeOf(runs.list(filter)).toEqualTypeOf<Pages<Run>>();
  // @ts-expect-error no such field
  void runs.list({ select: ["run_type"] });
});

test("a filter is checked by its types", () => {
  const found = runs.list({ runType: "llm", order: "asc", startTime: new Date(), endTime: "2026" });
  expectTypeOf(found).toEqualTypeOf<Pages<Run>>();
  // @ts-expect-error no such run type
  void runs.list({ runType: "model" });
  // @ts-expect-error no such order
  void runs.list({ order: "up" });
  // @ts-expect-error this is the name in the wire format
  void runs.list({ is_root: true });
  // @ts-expect-error reading one run takes no limit
  void runs.read(id, { limit: 1 });
});

test("statistics take the filter of a list, and no page of one", () => {
  expectTypeOf(runs.stats({ projectNames: ["p"] })).toEqualTypeOf<Promise<RunStats>>();
  // @ts-expect-error only lists take a limit
  void runs.stats({ limit: 5 });
});
