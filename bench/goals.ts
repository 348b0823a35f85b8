/** What ours is to be, as ratios within one run, and whether it is. */
import { baseline } from "./deliveries.ts";
import type { Deliveries } from "./deliveries.ts";
import { median, show, table } from "./results.ts";
import type { SizeName } from "./workload.ts";

type Bounds = Readonly<Partial<Record<SizeName, number>>>;

interface Goal {
  readonly figure: "mainMicros" | "processMicros" | "runsPerSecond";
  readonly says: string;
  /** Ours over this client's. */
  readonly other: string;
  readonly isMost: boolean;
  readonly bounds: Bounds;
}

/** The Node that the goals are for, on two cores and with defaults. */
export const goalNode = "24";

const goals: readonly Goal[] = [
  main("otlp-protobuf", { S: 0.28, M: 0.24, L: 0.17, XL: 0.13 }),
  main("langsmith", { S: 1 / 90, M: 1 / 40, L: 1 / 13, XL: 1 / 9 }),
  main(baseline, { S: 0.22, M: 0.22, L: 0.19, XL: 0.12 }),
  {
    figure: "processMicros",
    says: "CPU of all threads",
    other: "otlp-protobuf",
    isMost: true,
    bounds: { S: 0.6, M: 0.8, L: 0.7, XL: 0.6 },
  },
  rate("otlp-protobuf", { S: 2.2, M: 1.9, L: 2.2, XL: 2.4 }),
  rate("langsmith", { S: 50, M: 15, L: 4.5, XL: 3 }),
];

function main(other: string, bounds: Bounds): Goal {
  return { figure: "mainMicros", says: "main CPU", other, isMost: true, bounds };
}

function rate(other: string, bounds: Bounds): Goal {
  return { figure: "runsPerSecond", says: "runs/s", other, isMost: false, bounds };
}

/** The goals whose clients were measured; nothing where none were. */
export function goalTable(results: Deliveries, sizes: readonly SizeName[]): readonly string[] {
  const shown = goals.filter(({ other }) => sizes.some((size) => results.has(size, other)));
  if (shown.length === 0 || sizes.length === 0) {
    return [];
  }
  const rows = shown.map((goal) => [
    `${goal.says}, of ${goal.other}'s`,
    ...sizes.map((size) => cell(goal, size, results)),
  ]);
  return [table(["ours, against the goal", ...sizes], rows)];
}

function cell({ figure, other, isMost, bounds }: Goal, size: SizeName, of: Deliveries): string {
  const ratio = median(of.ratios(size, other, figure));
  const bound = bounds[size] ?? Number.NaN;
  const isMet = isMost ? ratio <= bound : ratio >= bound;
  return `${show(ratio)} (${isMost ? "≤" : "≥"} ${show(bound)}${isMet ? "" : ", **missed**"})`;
}
