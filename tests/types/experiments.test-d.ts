import { expectTypeOf, test } from "vitest";
import type { Experiments } from "../../src/api/experiments.ts";
import type { Pages } from "../../src/api/http/pages.ts";
import type {
  ComparativeExperiment,
  ComparedRun,
  Comparison,
} from "../../src/model/resources/experiment.ts";

declare const experiments: Experiments;
const id = "0f0e0d0c-0b0a-4908-8706-050403020100";

test("a comparison has its experiments; its dataset may be theirs", () => {
  const created = experiments.createComparative({ name: "c", experimentIds: [id] });
  expectTypeOf(created).toEqualTypeOf<Promise<ComparativeExperiment>>();
  // @ts-expect-error experiments are required
  void experiments.createComparative({ name: "c" });
});

test("runs are returned with their example, by experiment", async () => {
  const pages = experiments.compare({ datasetName: "d", experimentIds: [id] });
  expectTypeOf(pages).toEqualTypeOf<Pages<Comparison>>();
  for await (const { runs } of pages) {
    expectTypeOf(runs[id]).toEqualTypeOf<readonly ComparedRun[] | undefined>();
  }
  // @ts-expect-error a dataset is required
  void experiments.compare({ experimentIds: [id] });
  expectTypeOf(experiments.listComparative({ datasetId: id })).toEqualTypeOf<
    Pages<ComparativeExperiment>
  >();
});
