import { Type } from "typebox";
import type { Static } from "typebox";
import { Id, IsoTime, List, ObjectOrNull, Text, TextOrNull } from "../http/schema-parts.ts";
import { createExampleWithRunsSchema } from "../datasets/examples/example-schemas.ts";
import { feedbackStatsSchema, runSchema } from "../runs/run-schemas.ts";

/** A comparison of experiments. */
export const comparativeSchema = Type.Object(
  {
    id: Id,
    tenant_id: Id,
    name: TextOrNull,
    description: TextOrNull,
    reference_dataset_id: Id,
    experiments_info: List(Type.Object({ id: Id, name: Text })),
    feedback_stats: feedbackStatsSchema,
    extra: ObjectOrNull,
    created_at: IsoTime,
    modified_at: IsoTime,
  },
  { title: "ComparativeExperiment" },
);

export type ComparativeJson = Static<typeof comparativeSchema>;
/** The response body of requests that list stored comparisons. */
export const comparativeListSchema = List(comparativeSchema);

/** A list of examples, each with the runs of experiments on it. */
export const datasetRunsSchema = List(createExampleWithRunsSchema(runSchema, "ExampleWithRuns"));
