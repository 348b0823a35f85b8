/** The performance goals of Millrace, as ratios to other clients within one run, and whether they are met. */
import { baseline } from "./deliveries.ts";
import type { Deliveries } from "./deliveries.ts";
import { median, formatNumber, table } from "./results.ts";
import type { SizeName } from "./workload.ts";

type Bounds = Readonly<Partial<Record<SizeName, number>>>;

interface Goal {
  readonly figure: "mainMicros" | "processMicros" | "runsPerSecond";
  readonly title: string;
  /** The client to which Millrace is compared. */
  readonly client: string;
  readonly isUpperBound: boolean;
  readonly bounds: Bounds;
}

/** The Node version for which the goals are defined, on two cores and with defaults. */
export const goalNode = "24";

const goals: readonly Goal[] = [
  mainGoal("otlp-protobuf", { S: 0.28, M: 0.24, L: 0.17, XL: 0.13 }),
  mainGoal("langsmith", { S: 1 / 90, M: 1 / 40, L: 1 / 13, XL: 1 / 9 }),
  mainGoal(baseline, { S: 0.22, M: 0.22, L: 0.19, XL: 0.12 }),
  {
    figure: "processMicros",
    title: "CPU of all threads",
    client: "otlp-protobuf",
    isUpperBound: true,
    bounds: { S: 0.6, M: 0.8, L: 0.7, XL: 0.6 },
  },
  rateGoal("otlp-protobuf", { S: 2.2, M: 1.9, L: 2.2, XL: 2.4 }),
  rateGoal("langsmith", { S: 50, M: 15, L: 4.5, XL: 3 }),
];

function mainGoal(client: string, bounds: Bounds): Goal {
  return { figure: "mainMicros", title: "main CPU", client, isUpperBound: true, bounds };
}

function rateGoal(client: string, bounds: Bounds): Goal {
  return { figure: "runsPerSecond", title: "runs/s", client, isUpperBound: false, bounds };
}

/** A table of the goals whose clients were measured. The list is empty if none were. */
export function goalTable(results: Deliveries, sizes: readonly SizeName[]): readonly string[] {
  const shown = goals.filter(({ client }) => sizes.some((size) => results.has(size, client)));
  if (shown.length === 0 || sizes.length === 0) {
    return [];
  }
  const rows = shown.map((goal) => [
    `${goal.title}, relative to ${goal.client}`,
    ...sizes.map((size) => goalCell(goal, size, results)),
  ]);
  return [table(["millrace (goal)", ...sizes], rows)];
}

function goalCell(
  { figure, client, isUpperBound, bounds }: Goal,
  size: SizeName,
  results: Deliveries,
): string {
  const ratio = median(results.ratios(size, client, figure));
  const bound = bounds[size] ?? Number.NaN;
  const isMet = isUpperBound ? ratio <= bound : ratio >= bound;
  return `${formatNumber(ratio)} (${isUpperBound ? "≤" : "≥"} ${formatNumber(bound)}${isMet ? "" : ", **missed**"})`;
}
