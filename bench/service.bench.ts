// What does recording cost a service that runs at tens to thousands of runs a second, and one that does nothing?
import { parseArgs } from "node:util";
import { describeExceeded, guardedGoalTable } from "./guarded-goals.ts";
import type { GuardedGoal } from "./guarded-goals.ts";
import { measureInProcess } from "./processes.ts";
import { formatNumber, formatSpread, median, publish, table } from "./results.ts";
import type { ServiceFigures, ServiceRequest } from "./service-child.ts";
import { workloadNames } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

const harness = "none";
const own = "millrace";
const reference = "otlp-protobuf";

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    rates: { type: "string", default: "0,20,100,500,2000" },
    sizes: { type: "string", default: "S,M" },
    drivers: { type: "string", default: `${reference},${own},langsmith` },
    seconds: { type: "string", default: "8" },
    // Measures all rounds and clients at the same time, which takes a fraction of the time. It is for rates at which all of
    // them together use a small part of one core, so that none waits for another one.
    together: { type: "boolean", default: false },
    node: { type: "string" },
    guard: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});
const rounds = Number(flags.rounds);
const seconds = Number(flags.seconds);
const drivers = [harness, ...flags.drivers.split(",")];
const sizes = workloadNames.filter((name) => flags.sizes.split(",").includes(name));

interface Load {
  readonly workload: WorkloadName;
  readonly runsPerSecond: number;
}

/** An idle client records nothing, so it is measured once and not for each size. */
const loads: readonly Load[] = flags.rates
  .split(",")
  .map(Number)
  .flatMap((runsPerSecond) =>
    (runsPerSecond === 0 ? sizes.slice(0, 1) : sizes).map((workload) => ({
      workload,
      runsPerSecond,
    })),
  );

const measured = new Map<string, ServiceFigures[]>();
const keyOf = ({ workload, runsPerSecond }: Load, driver: string): string =>
  `${workload} ${runsPerSecond} ${driver}`;

if (flags.together) {
  await Promise.all(Array.from({ length: rounds }, (_, index) => measureRound(index + 1)));
} else {
  for (let round = 1; round <= rounds; round++) {
    await measureRound(round);
  }
}
report();

async function measureRound(round: number): Promise<void> {
  const measurements = loads.flatMap((load) => drivers.map((driver) => ({ load, driver })));
  if (flags.together) {
    await Promise.all(measurements.map((one) => measure(round, one)));
    return;
  }
  for (const one of measurements) {
    await measure(round, one);
  }
}

async function measure(
  round: number,
  { load, driver }: { readonly load: Load; readonly driver: string },
): Promise<void> {
  const figures = await measureInProcess<ServiceFigures>(
    "service-child",
    (endpoint): ServiceRequest => ({ ...load, driver, endpoint, seconds }),
    { node: flags.node },
  );
  const key = keyOf(load, driver);
  const figuresOfRounds = measured.get(key) ?? [];
  figuresOfRounds[round - 1] = figures;
  measured.set(key, figuresOfRounds);
  const { mainMs, allMs } = figures;
  console.error(
    `round ${round}: ${key}, main thread ${formatNumber(mainMs)} ms/s, all ${formatNumber(allMs)} ms/s`,
  );
}

function each(load: Load, driver: string, figure: keyof ServiceFigures): readonly number[] {
  return (measured.get(keyOf(load, driver)) ?? []).map((figures) => figures[figure]);
}

/** A figure of each round above that of the same program without recording, in the same round. */
function cost(load: Load, driver: string, figure: keyof ServiceFigures): readonly number[] {
  const withoutRecording = each(load, harness, figure);
  return each(load, driver, figure).map(
    (value, round) => value - (withoutRecording[round] ?? Number.NaN),
  );
}

/** The ratio of the medians, because at low rates the difference of one round to the program alone is mostly noise. */
function ratio(load: Load, figure: "mainMs" | "allMs"): number {
  return median(cost(load, own, figure)) / median(cost(load, reference, figure));
}

function goalsOf(load: Load): readonly GuardedGoal[] {
  if (load.runsPerSecond === 0) {
    return [
      {
        title: "idle: CPU of all threads, ms/s",
        value: median(cost(load, own, "allMs")),
        limit: 0.2,
        guardLimit: 1,
      },
      {
        title: "idle: waits a second",
        value: median(cost(load, own, "waits")),
        limit: 1,
        guardLimit: 4,
      },
    ];
  }
  const title = `${load.workload} at ${formatNumber(load.runsPerSecond)} runs/s:`;
  return drivers.includes(reference)
    ? [
        {
          title: `${title} main CPU, relative to ${reference}`,
          value: ratio(load, "mainMs"),
          limit: 0.25,
          guardLimit: 0.9,
        },
        {
          title: `${title} CPU of all threads, relative to ${reference}`,
          value: ratio(load, "allMs"),
          limit: 0.6,
          guardLimit: 1.2,
        },
      ]
    : [];
}

function report(): void {
  const rows = loads.flatMap((load) =>
    drivers.map((driver) => [
      load.runsPerSecond === 0 ? "" : load.workload,
      load.runsPerSecond === 0 ? "idle" : formatNumber(load.runsPerSecond),
      driver === harness ? "the harness alone" : driver,
      ...(["mainMs", "allMs", "waits"] as const).map((figure) =>
        formatSpread(driver === harness ? each(load, driver, figure) : cost(load, driver, figure)),
      ),
      formatNumber(Math.max(...each(load, driver, "missing"))),
    ]),
  );
  const goals = loads.flatMap(goalsOf);
  const problems = [
    ...loads.flatMap((load) =>
      each(load, own, "missing").some((missing) => missing > 0)
        ? [`Millrace lost runs at ${load.runsPerSecond} runs/s.`]
        : [],
    ),
    ...(flags.guard ? describeExceeded(goals) : []),
  ];
  publish({
    script: "service",
    section: flags.node === undefined ? "service" : `service-node${flags.node}`,
    question: "What does recording cost a service at a steady rate, and when it is idle?",
    node: flags.node,
    body: [
      table(
        ["size", "runs/s", "client", "main thread ms/s", "all threads ms/s", "waits/s", "missing"],
        rows,
      ),
      guardedGoalTable(goals),
      [
        `Median (lowest–highest) of ${rounds} ${flags.together ? "simultaneous" : "interleaved"} rounds of ${seconds} s, after a warm-up of 20,000 runs or 4 s. CPU time per second above that of the harness alone. Single runs, evenly spaced. Waits: how often a thread began to wait, and was later woken.`,
        ...problems.map((problem) => `**Failed:** ${problem}`),
      ].join("\n"),
    ].join("\n\n"),
  });
  process.exitCode = problems.length > 0 ? 1 : 0;
}
