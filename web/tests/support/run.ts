import type { RunSummary } from "../../src/lib/run.ts";

/** A run as a list has it, with what a test says of it. */
export const makeRun = (id: string, parts: Partial<RunSummary> = {}): RunSummary => ({
  id,
  traceId: "root",
  parentRunId: undefined,
  name: id,
  runType: "chain",
  status: "success",
  startMs: 0,
  endMs: 10,
  errorLine: undefined,
  ...parts,
});
