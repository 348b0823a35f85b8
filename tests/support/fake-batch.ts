import type { RunOperation } from "../../src/workers/json/operations.ts";
import { flattenResult } from "../../src/workers/sinks/sink.ts";
import type { Batch, Outcome } from "../../src/workers/sinks/sink.ts";
import { runId } from "./run-batch.ts";

/** A batch of `count` runs without content, for tests that never write its request body. */
export const fakeBatch = (count: number): Batch =>
  batchOfRuns(
    Array.from({ length: count }, (_, index) => ({
      id: runId(index + 1),
      operation: "post",
      records: [index],
      isBatchable: true,
    })),
  );

const batchOfRuns = (runs: readonly RunOperation[]): Batch => ({
  runs,
  sizeBytes: runs.length,
  isSmall: false,
  writeBody: () => [],
  withRuns: batchOfRuns,
  splitSingleRun: () => [],
  separateAttachments: () => [],
  combineBatches: () => batchOfRuns(runs),
  replaceAttachments() {
    return this;
  },
});

/** The kind of outcome of each run of a batch, in the order of the batch; `missing` if a run has none. */
export function outcomesByRun(batch: Batch, outcome: Outcome): readonly string[] {
  const byRun = new Map<string, string>();
  for (const part of flattenResult({ batch, outcome })) {
    for (const { id } of part.batch.runs) {
      if (byRun.has(id)) {
        throw new Error(`run ${id} has two outcomes`);
      }
      byRun.set(id, part.outcome.kind);
    }
  }
  return batch.runs.map(({ id }) => byRun.get(id) ?? "missing");
}
