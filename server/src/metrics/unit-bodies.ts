import { minuteMicros } from "../model/durations.ts";
import type { MetricCounts } from "./metric-body.ts";
import type { MetricBodies } from "./metrics.ts";
import { createCounts } from "./scanned-run.ts";

/** Encodes the counts of minutes, by their start. */
export const encodeMinutes = (
  countsByStart: ReadonlyMap<number, readonly MetricCounts[]>,
): readonly MetricBodies[] =>
  [...countsByStart].map(([startMicros, counts]) => ({
    unit: startMicros / minuteMicros,
    bodies: counts.map((dimensionCounts) => dimensionCounts.encode()),
  }));

/** Merges the minutes of the hour with the number `unit`; `undefined` without runs. */
export function mergeMinutes(
  unit: number,
  minutes: readonly MetricBodies[],
): MetricBodies | undefined {
  const counts = createCounts();
  for (const { bodies } of minutes) {
    bodies.forEach((body, dimension) => counts[dimension]?.merge(body));
  }
  return toBodies(unit, counts);
}

/** Encodes the counts of a unit; `undefined` without runs. */
export const toBodies = (unit: number, counts: readonly MetricCounts[]): MetricBodies | undefined =>
  counts.every(({ isEmpty }) => isEmpty)
    ? undefined
    : { unit, bodies: counts.map((dimensionCounts) => dimensionCounts.encode()) };
