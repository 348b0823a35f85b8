import type { ClientStats } from "millrace";
import { isComplete } from "./compare.ts";
import type { ReadBack } from "./compare.ts";
import type { Measurement } from "./measure.ts";

/** With fewer requests, random variation is larger than the cost of recording. */
const measurableRequests = 500;

/** A phase of the workload, without or with recording. */
export interface Phase {
  readonly requests: number;
  /** Number of requests in each stretch. */
  readonly stretches: readonly number[];
  /** Number of requests to the model that never responds. */
  readonly failedOnPurpose: number;
  /** Number of all other requests that failed. */
  readonly failed: number;
  readonly responseMs: { readonly p50: number; readonly p99: number };
  readonly cost: Measurement;
}

/** The data of the summary. */
export interface Outcome {
  readonly baseline: Phase;
  readonly recorded: Phase;
  /** Number of runs that the program recorded. */
  readonly runs: number;
  readonly payloadBytes: { readonly total: number; readonly min: number; readonly max: number };
  readonly stats: ClientStats;
  /** Time from the last response to the delivery of the last record. */
  readonly flushMs: number;
  readonly readBack: ReadBack;
  readonly readBackMs: number;
}

/** Whether every recorded run was delivered and is equal on the server. */
export const isNothingMissing = ({ runs, stats, readBack }: Outcome): boolean =>
  stats.accepted === 2 * runs &&
  stats.delivered === stats.accepted &&
  readBack.equal === runs &&
  isComplete(readBack);

/** Formats the summary as aligned lines. */
export const formatSummary = (outcome: Outcome): string =>
  [
    "What was recorded",
    table(deliveryRows(outcome)),
    "",
    "What it cost the program's main thread",
    table(costRows(outcome)),
    "* In wall-clock time: the program shares its cores with the load generator, the server and the worker. A block is the",
    "  CPU time of the main thread between two turns of a 5 ms timer. CPU per run: median (lowest to highest) of the",
    "  turns. If the range is wider than the median, the machine's speed varied more than recording costs.",
    "",
    ...formatVerdict(outcome),
  ].join("\n");

const deliveryRows = (outcome: Outcome): string[][] => {
  const { recorded, runs, payloadBytes, stats, readBack } = outcome;
  const { requests, failedOnPurpose, failed, cost } = recorded;
  const lost = Object.entries(stats.lost).map(
    ([reason, count]) => `${reason} ${formatCount(count)}`,
  );
  const { different, missing, unknown } = readBack;
  return [
    [
      "requests",
      `${formatCount(requests)}, of which ${formatCount(failedOnPurpose)} failed on purpose and ${formatCount(failed)} otherwise`,
    ],
    ["runs", `${formatCount(runs)}, ${formatRate(runs, cost.wallMs)} runs per second`],
    [
      "payload",
      `${megabytes(payloadBytes.total)}, ${kilobytes(payloadBytes.min)} to ${kilobytes(payloadBytes.max)} per run`,
    ],
    ["accepted", `${formatCount(stats.accepted)} records: the start and the end of every run`],
    [
      "delivered",
      `${formatCount(stats.delivered)} records, the last ${seconds(outcome.flushMs)} after the last response`,
    ],
    ["lost", `${formatCount(stats.rejected + stats.dropped)} records: ${lost.join(", ")}`],
    [
      "waiting",
      `${formatCount(stats.pending)} records in memory, ${formatCount(stats.spooled)} on disk`,
    ],
    [
      "read back",
      `${formatCount(readBack.equal)} runs equal, ${formatCount(different.length)} different, ${formatCount(missing.length)} missing, ${formatCount(unknown)} unknown, in ${seconds(outcome.readBackMs)}`,
    ],
  ];
};

const cpuPerRequest = ({ cost, requests }: Phase): number => cost.cpuMs / requests;

/**
 * The CPU time that recording adds to a run in each stretch, microseconds. Each stretch is compared with the mean of the
 * stretches without recording before and after it, because the machine's speed changes over time.
 */
const recordingMicros = (baseline: Phase, recorded: Phase, runs: number): readonly number[] => {
  const runsPerRequest = runs / recorded.requests;
  const baselineMs = perRequestMs(baseline);
  return perRequestMs(recorded).map((recordedMs, turn) => {
    const before = baselineMs[turn] ?? Number.NaN;
    const after = baselineMs[turn + 1] ?? before;
    return ((recordedMs - (before + after) / 2) / runsPerRequest) * 1_000;
  });
};

const perRequestMs = ({ cost, stretches }: Phase): readonly number[] =>
  stretches.map((requests, index) => (cost.stretchesCpuMs[index] ?? Number.NaN) / requests);

/** Formats the median and the range. */
const formatSpread = (micros: readonly number[]): string => {
  const sorted = micros.toSorted((left, right) => left - right).map(formatCount);
  const median = sorted[Math.floor(sorted.length / 2)] ?? "";
  return sorted.length < 2 ? `${median} µs` : `${median} µs (${sorted[0]} to ${sorted.at(-1)})`;
};

const costRows = ({ baseline, recorded, runs }: Outcome): string[][] => {
  const isMeasured = Math.min(baseline.requests, recorded.requests) >= measurableRequests;
  const row = (label: string, value: (phase: Phase) => string): string[] => [
    label,
    value(baseline),
    value(recorded),
  ];
  return [
    ["", "without recording", "with recording"],
    row("requests", ({ requests }) => formatCount(requests)),
    row("requests per second", ({ requests, cost }) => formatRate(requests, cost.wallMs)),
    row("response time p50", ({ responseMs }) => milliseconds(responseMs.p50)),
    row("response time p99", ({ responseMs }) => milliseconds(responseMs.p99)),
    row("event-loop delay p50*", ({ cost }) => milliseconds(cost.loopDelayMs.p50)),
    row("event-loop delay p99*", ({ cost }) => milliseconds(cost.loopDelayMs.p99)),
    row("event-loop delay max*", ({ cost }) => milliseconds(cost.loopDelayMs.max)),
    row("longest block, CPU", ({ cost }) =>
      cost.longestBlockMs === undefined ? "" : milliseconds(cost.longestBlockMs),
    ),
    row("total CPU", ({ cost }) => seconds(cost.cpuMs)),
    row("CPU per request", (phase) => milliseconds(cpuPerRequest(phase))),
    [
      "CPU per run, for recording",
      "",
      isMeasured ? formatSpread(recordingMicros(baseline, recorded, runs)) : "too few requests",
    ],
    ["CPU measured by", "", recorded.cost.cpuSource],
  ];
};

const formatVerdict = (outcome: Outcome): string[] => {
  if (isNothingMissing(outcome)) {
    return ["Nothing is missing: every accepted run was delivered and read back equal."];
  }
  const { different, missing } = outcome.readBack;
  return [
    "NOT COMPLETE: not every recorded run was delivered and read back equal.",
    ...different.slice(0, 5).map((line) => `  different: ${line}`),
    ...missing.slice(0, 5).map((id) => `  missing: ${id}`),
  ];
};

/** Formats rows with aligned columns: labels to the left, and values to the right if there are several. */
const table = (rows: readonly (readonly string[])[]): string => {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    }
  }
  const pad = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    return column === 0 || widths.length === 2 ? cell.padEnd(width) : cell.padStart(width);
  };
  return rows.map((row) => `  ${row.map(pad).join("  ")}`.trimEnd()).join("\n");
};

const formatCount = (count: number): string => Math.round(count).toLocaleString("en");
const formatRate = (count: number, ms: number): string => formatCount((count / ms) * 1_000);
const milliseconds = (ms: number): string => `${ms.toFixed(2)} ms`;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
const kilobytes = (bytes: number): string => `${(bytes / 1_000).toFixed(1)} kB`;
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
