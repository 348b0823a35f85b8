/** A run on the wire. */
type Row = Readonly<Record<string, unknown>>;

/** More than one page of a run list (100). */
const runCount = 130;

export const sortedProject = "sorted";

export const runId = (index: number): string =>
  `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;

/** Neither ascending nor descending with the start. */
export const latencyOf = (index: number): number => 100 + ((index * 37) % runCount) * 10;

export const orderOf = (at: number, id: string): string =>
  `${new Date(at).toISOString().replaceAll(/[-:.]/g, "").slice(0, -1)}000Z${id}`;

export const sortedRun = (index: number, at: number, latencyMs: number): Row => ({
  id: runId(index),
  trace_id: runId(index),
  dotted_order: orderOf(at, runId(index)),
  session_name: sortedProject,
  name: `run ${index}`,
  run_type: "chain",
  start_time: new Date(at).toISOString(),
  end_time: new Date(at + latencyMs).toISOString(),
  inputs: {},
});

/** A page of runs and a part of another, whose latencies are in another order than their starts. */
export const sortedRuns = (): readonly Row[] => {
  const from = Date.now() - 3_600_000;
  return Array.from({ length: runCount }, (_, index) =>
    sortedRun(index, from + index * 10_000, latencyOf(index)),
  );
};
