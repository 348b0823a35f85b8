import { expectTypeOf, test } from "vitest";
import type {
  AddRuns,
  AnnotationQueue,
  AnnotationQueues,
  Pages,
  QueuedRun,
  Run,
} from "../../src/main/index.ts";

test("runs are added by their ids or with where they are, never both", () => {
  expectTypeOf<{ runIds: string[] }>().toExtend<AddRuns>();
  expectTypeOf<{
    runs: { runId: string; projectId: string; startTime: Date }[];
  }>().toExtend<AddRuns>();
  // @ts-expect-error only one of the two is allowed
  const both: AddRuns = { runIds: [], runs: [] };
  // @ts-expect-error one of the two is required
  const neither: AddRuns = {};
  expectTypeOf([both, neither]).toEqualTypeOf<AddRuns[]>();
});

test("lists are pages, a size is a number, a queued run holds the run as the wire has it", () => {
  expectTypeOf<ReturnType<AnnotationQueues["list"]>>().toEqualTypeOf<Pages<AnnotationQueue>>();
  expectTypeOf<ReturnType<AnnotationQueues["listRuns"]>>().toEqualTypeOf<Pages<QueuedRun>>();
  expectTypeOf<ReturnType<AnnotationQueues["size"]>>().toEqualTypeOf<Promise<number>>();
  expectTypeOf<QueuedRun["run"]>().toEqualTypeOf<Run>();
});
