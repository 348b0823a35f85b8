import type { ClientStats } from "millrace";
import { isComplete } from "./compare.ts";
import type { ReadBack } from "./compare.ts";
import type { Measurement } from "./measure.ts";

/** With fewer, chance weighs more than recording does. */
const measurableRequests = 500;

/** The workload without recording, or with it. */
export interface Phase {
  readonly requests: number;
  /** Requests of each stretch. */
  readonly stretches: readonly number[];
  /** Requests to the model that never answers. */
  readonly failedOnPurpose: number;
  /** All others that ended in an error. */
  readonly failed: number;
  readonly responseMs: { readonly p50: number; readonly p99: number };
  readonly cost: Measurement;
}

/** All that the summary tells. */
export interface Outcome {
  readonly baseline: Phase;
  readonly recorded: Phase;
  /** Runs that the program recorded. */
  readonly runs: number;
  readonly payloadBytes: { readonly total: number; readonly min: number; readonly max: number };
  readonly stats: ClientStats;
  /** From the last response to the delivery of the last record. */
  readonly flushMs: number;
  readonly readBack: ReadBack;
  readonly readBackMs: number;
}

/** Whether every accepted run was delivered and read back equal. */
export const isNothingMissing = ({ runs, stats, readBack }: Outcome): boolean =>
  stats.accepted === 2 * runs &&
  stats.delivered === stats.accepted &&
  readBack.equal === runs &&
  isComplete(readBack);

/** The summary as aligned lines. */
export const formatSummary = (outcome: Outcome): string =>
  [
    "What was recorded",
    table(deliveryRows(outcome)),
    "",
    "What it cost the program's main thread",
    table(costRows(outcome)),
    "* By the clock: the program shares its cores with the load, the server and the worker, and waits for them. A hold is",
    "  what the main thread itself computed between two turns of a timer of 5 ms. CPU a run: median of the turns, lowest",
    "  to highest; a spread wider than the figure says that the machine changed more than recording costs.",
    "",
    ...verdict(outcome),
  ].join("\n");

const deliveryRows = (outcome: Outcome): string[][] => {
  const { recorded, runs, payloadBytes, stats, readBack } = outcome;
  const { requests, failedOnPurpose, failed, cost } = recorded;
  const lost = Object.entries(stats.lost).map(([reason, count]) => `${reason} ${whole(count)}`);
  const { different, missing, unknown } = readBack;
  return [
    [
      "requests",
      `${whole(requests)}, of which ${whole(failedOnPurpose)} failed on purpose and ${whole(failed)} otherwise`,
    ],
    ["runs", `${whole(runs)}, ${perSecond(runs, cost.wallMs)} runs a second`],
    [
      "payload",
      `${megabytes(payloadBytes.total)}, ${kilobytes(payloadBytes.min)} to ${kilobytes(payloadBytes.max)} a run`,
    ],
    ["accepted", `${whole(stats.accepted)} records: the start and the end of every run`],
    [
      "delivered",
      `${whole(stats.delivered)} records, the last ${seconds(outcome.flushMs)} after the last response`,
    ],
    ["lost", `${whole(stats.rejected + stats.dropped)} records: ${lost.join(", ")}`],
    ["waiting", `${whole(stats.pending)} records in memory, ${whole(stats.spooled)} on disk`],
    [
      "read back",
      `${whole(readBack.equal)} runs equal, ${whole(different.length)} different, ${whole(missing.length)} missing, ${whole(unknown)} unknown, in ${seconds(outcome.readBackMs)}`,
    ],
  ];
};

const cpuPerRequest = ({ cost, requests }: Phase): number => cost.cpuMs / requests;

/**
 * What recording adds to a run in each stretch, in microseconds: over the mean of the stretches without it
 * that were before and after, since the machine's speed changes from one to the next.
 */
const recordingUs = (baseline: Phase, recorded: Phase, runs: number): readonly number[] => {
  const runsPerRequest = runs / recorded.requests;
  const without = perRequestMs(baseline);
  return perRequestMs(recorded).map((withIt, turn) => {
    const before = without[turn] ?? Number.NaN;
    const after = without[turn + 1] ?? before;
    return ((withIt - (before + after) / 2) / runsPerRequest) * 1_000;
  });
};

const perRequestMs = ({ cost, stretches }: Phase): readonly number[] =>
  stretches.map((requests, index) => (cost.stretchesCpuMs[index] ?? Number.NaN) / requests);

/** The median, and how far it can be trusted. */
const spread = (micros: readonly number[]): string => {
  const sorted = micros.toSorted((one, other) => one - other).map(whole);
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
    row("requests", ({ requests }) => whole(requests)),
    row("requests a second", ({ requests, cost }) => perSecond(requests, cost.wallMs)),
    row("response time p50", ({ responseMs }) => milliseconds(responseMs.p50)),
    row("response time p99", ({ responseMs }) => milliseconds(responseMs.p99)),
    row("event-loop delay p50*", ({ cost }) => milliseconds(cost.loopDelayMs.p50)),
    row("event-loop delay p99*", ({ cost }) => milliseconds(cost.loopDelayMs.p99)),
    row("event-loop delay max*", ({ cost }) => milliseconds(cost.loopDelayMs.max)),
    row("longest hold, CPU", ({ cost }) =>
      cost.longestHoldMs === undefined ? "" : milliseconds(cost.longestHoldMs),
    ),
    row("CPU in all", ({ cost }) => seconds(cost.cpuMs)),
    row("CPU a request", (phase) => milliseconds(cpuPerRequest(phase))),
    [
      "CPU a run, for recording",
      "",
      isMeasured ? spread(recordingUs(baseline, recorded, runs)) : "too few requests",
    ],
    ["CPU measured by", "", recorded.cost.cpuSource],
  ];
};

const verdict = (outcome: Outcome): string[] => {
  if (isNothingMissing(outcome)) {
    return ["Nothing is missing: every accepted run was delivered and read back equal."];
  }
  const { different, missing } = outcome.readBack;
  return [
    "NOT COMPLETE: not every run that the program made was delivered and read back equal.",
    ...different.slice(0, 5).map((line) => `  different: ${line}`),
    ...missing.slice(0, 5).map((id) => `  missing: ${id}`),
  ];
};

/** Rows with their columns aligned: labels to the left; where there are several values, to the right. */
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

const whole = (count: number): string => Math.round(count).toLocaleString("en");
const perSecond = (count: number, ms: number): string => whole((count / ms) * 1_000);
const milliseconds = (ms: number): string => `${ms.toFixed(2)} ms`;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
const kilobytes = (bytes: number): string => `${(bytes / 1_000).toFixed(1)} kB`;
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
