import { usageNames } from "./usage-sources.ts";

/**
 * Names of the numbers in a run's payload that are also stored in columns of `runs`, so that statistics need not read
 * payloads.
 */
export const measureNames = [...usageNames, "first_token_us"] as const;

export type MeasureName = (typeof measureNames)[number];

/** The measures of a run; `null` for a number that the run does not report. */
export type RunMeasures = Readonly<Record<MeasureName, number | null>>;
