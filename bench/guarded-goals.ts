/** Goals that the guard of CI checks with a margin, for the benches that measure programs and services as a whole. */
import { formatNumber, table } from "./results.ts";

export interface GuardedGoal {
  readonly title: string;
  readonly value: number;
  /** The goal: `value` is at most this. */
  readonly limit: number;
  /** The limit in CI, with a margin for the noise of a busy machine. */
  readonly guardLimit: number;
}

/** A table of the goals, and whether each is met. */
export const guardedGoalTable = (goals: readonly GuardedGoal[]): string =>
  table(
    ["millrace", "measured", "goal"],
    goals.map(({ title, value, limit }) => [
      title,
      formatNumber(value),
      `≤ ${formatNumber(limit)}${value <= limit ? "" : ", **missed**"}`,
    ]),
  );

/** A sentence for each goal whose limit in CI is exceeded. NaN, without a measurement, exceeds every limit. */
export const describeExceeded = (goals: readonly GuardedGoal[]): readonly string[] =>
  goals.flatMap(({ title, value, guardLimit }) =>
    value <= guardLimit ? [] : [`${title} is ${formatNumber(value)}, more than ${guardLimit}.`],
  );
