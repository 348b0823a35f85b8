import { expectTypeOf, test } from "vitest";
import type { ClonedDataset } from "../../src/api/datasets/dataset-clone.ts";
import type { Datasets } from "../../src/api/datasets/datasets.ts";
import type { Pages } from "../../src/api/http/pages.ts";
import type { DatasetShare } from "../../src/model/resources/dataset-share.ts";
import type { DatasetVersion } from "../../src/model/resources/dataset-version.ts";
import type { DataType, Dataset } from "../../src/model/resources/dataset.ts";
import type { Example } from "../../src/model/resources/example.ts";

declare const datasets: Datasets;
declare const signal: AbortSignal;
const id = "0f0e0d0c-0b0a-4908-8706-050403020100";

test("a dataset is named by its id or by its name, never both or neither", () => {
  expectTypeOf(datasets.read({ datasetId: id })).toEqualTypeOf<Promise<Dataset>>();
  expectTypeOf(datasets.has({ datasetName: "d", signal })).toEqualTypeOf<Promise<boolean>>();
  // @ts-expect-error only one of the two is allowed
  void datasets.read({ datasetId: id, datasetName: "d" });
  // @ts-expect-error one of the two is required
  void datasets.read({});
  // @ts-expect-error one of the two is required
  void datasets.listSplits({ asOf: "prod" });
});

test("lists are pages, exports are lists of lines", () => {
  expectTypeOf(datasets.list()).toEqualTypeOf<Pages<Dataset>>();
  expectTypeOf(datasets.listSharedExamples("t", { signal })).toEqualTypeOf<Pages<Example>>();
  expectTypeOf(datasets.exportOpenAi({ datasetId: id })).toEqualTypeOf<Pages<string>>();
});

test("a version is read by a time or by a tag, never both", () => {
  const version = datasets.readVersion({ datasetId: id, tag: "prod" });
  expectTypeOf(version).toEqualTypeOf<Promise<DatasetVersion>>();
  void datasets.readVersion({ datasetName: "d", asOf: new Date() });
  // @ts-expect-error only one of the two is allowed
  void datasets.readVersion({ datasetId: id, tag: "prod", asOf: "prod" });
  // @ts-expect-error one of the two is required
  void datasets.readVersion({ datasetId: id });
});

test("the result of a clone is distinguished by its kind", async () => {
  const cloned = await datasets.clone("t", { name: "n", signal });
  expectTypeOf(cloned).toEqualTypeOf<ClonedDataset>();
  expectTypeOf(cloned.dataset).toEqualTypeOf<Dataset>();
  if (cloned.kind === "cloned") {
    expectTypeOf(cloned.exampleCount).toEqualTypeOf<number>();
  }
  // @ts-expect-error a skipped clone has no count
  void cloned.exampleCount;
});

test("a share may not be there", () => {
  expectTypeOf(datasets.share({ datasetId: id })).toEqualTypeOf<Promise<DatasetShare>>();
  expectTypeOf(datasets.readShare({ datasetId: id })).toEqualTypeOf<
    Promise<DatasetShare | undefined>
  >();
});

test("what is handed out can't be written, and types are named", async () => {
  const dataset = await datasets.create({ name: "d", dataType: "chat" });
  expectTypeOf(dataset.dataType).toEqualTypeOf<DataType>();
  // @ts-expect-error read only
  dataset.name = "e";
  // @ts-expect-error no such type
  void datasets.create({ name: "d", dataType: "csv" });
  // @ts-expect-error no such option
  void datasets.update({ datasetId: id, data_type: "kv" });
  // @ts-expect-error columns must be named
  void datasets.createFromCsv({ file: "a.csv" });
});
