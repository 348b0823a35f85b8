/** A run in the API's format. */
type Row = Readonly<Record<string, unknown>>;

/** More than one page of a run list, which has 100 runs. */
const runCount = 130;

export const sortedProject = "sorted";

export const runId = (index: number): string =>
  `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;

/** The latency of a run, in milliseconds. Sorted by start, the latencies are neither ascending nor descending. */
export const latencyOf = (index: number): number => 100 + ((index * 37) % runCount) * 10;

/** The dotted order of a root run. */
export const dottedOrderOf = (at: number, id: string): string =>
  `${new Date(at).toISOString().replaceAll(/[-:.]/g, "").slice(0, -1)}000Z${id}`;

export const sortedRun = (index: number, at: number, latencyMs: number): Row => ({
  id: runId(index),
  trace_id: runId(index),
  dotted_order: dottedOrderOf(at, runId(index)),
  session_name: sortedProject,
  name: `run ${index}`,
  run_type: "chain",
  start_time: new Date(at).toISOString(),
  end_time: new Date(at + latencyMs).toISOString(),
  inputs: {},
});

/** More than a page of runs, whose order by latency differs from their order by start. */
export const sortedRuns = (): readonly Row[] => {
  const from = Date.now() - 3_600_000;
  return Array.from({ length: runCount }, (_, index) =>
    sortedRun(index, from + index * 10_000, latencyOf(index)),
  );
};
