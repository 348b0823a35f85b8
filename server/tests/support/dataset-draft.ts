import { randomUUID } from "node:crypto";
import type { DatasetDraft } from "../../src/datasets/dataset.ts";

/** The fields of a dataset that has only what it must have. */
export const plainDatasetFields = {
  description: null,
  dataType: "kv",
  inputsSchema: null,
  outputsSchema: null,
  extra: null,
  transformations: null,
  externallyManaged: false,
  baselineExperimentId: null,
} as const;

/** A dataset to create, with a new id. */
export const draftDataset = (rest: Partial<DatasetDraft> = {}): DatasetDraft => ({
  id: randomUUID(),
  name: "d",
  createdMicros: 1_000,
  ...plainDatasetFields,
  ...rest,
});
