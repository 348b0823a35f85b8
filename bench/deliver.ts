// What does recording a run cost until the server has it: main-thread CPU, all CPU, runs a second?
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import type { Measurement, Order } from "./child.ts";
import { median, publish, show, spread, table } from "./results.ts";
import { runsPerTree, sizeNames } from "./workload.ts";
import type { SizeName } from "./workload.ts";

/** The client that ratios are against, and the empty one that says what the harness costs. */
const baseline = "naive";
const harness = "none";
const measured = "millrace";

/** Main-thread CPU of ours over the naive client's that `--guard` lets pass. */
const guarded = { size: "M", ratio: 0.45 } as const;

/** Runs that a measurement records, so that each takes about a second. */
const runsOf: Readonly<Record<SizeName, number>> = { S: 60_000, M: 24_000, L: 4_000, XL: 500 };
const warmupShare = 0.5;

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    sizes: { type: "string", default: sizeNames.join(",") },
    drivers: { type: "string", default: `${baseline},${measured}` },
    guard: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});

const rounds = Number(flags.rounds);
const chosenSizes = sizeNames.filter((size) => flags.sizes.split(",").includes(size));
const drivers = [harness, ...flags.drivers.split(",")];

/** Every measurement, in the order of its rounds, by size and driver. */
const results = new Map<string, Measurement[]>();
const resultsOf = (size: SizeName, driver: string): readonly Measurement[] =>
  results.get(`${size} ${driver}`) ?? [];

for (let round = 1; round <= rounds; round++) {
  for (const size of chosenSizes) {
    for (const driver of drivers) {
      const measurement = await measure(size, driver);
      const key = `${size} ${driver}`;
      results.set(key, [...(results.get(key) ?? []), measurement]);
      console.error(`round ${round}: ${key}, main ${show(measurement.mainMicros)} µs a run`);
    }
  }
}
report();

/** One client at one size, in a process of its own, against a sink in another. */
async function measure(size: SizeName, driver: string): Promise<Measurement> {
  const sink = fork(new URL("sink.ts", import.meta.url));
  const child = fork(new URL("child.ts", import.meta.url));
  try {
    const endpoint = (await messageOf(sink)) as string;
    const trees = Math.ceil(runsOf[size] / runsPerTree);
    const warmupTrees = Math.ceil(trees * warmupShare);
    const order: Order = { driver, size, endpoint, trees, warmupTrees };
    child.send(order);
    return (await messageOf(child)) as Measurement;
  } finally {
    child.kill();
    sink.kill();
  }
}

/** The next message; throws where the process ends without one. */
async function messageOf(child: ChildProcess): Promise<unknown> {
  const ended = once(child, "exit").then(() => {
    throw new Error(`A process of the bench ended early: ${child.spawnargs.join(" ")}`);
  });
  const [message] = (await Promise.race([once(child, "message"), ended])) as readonly unknown[];
  return message;
}

/** A figure of each round, the harness's of the same round subtracted. */
function net(
  size: SizeName,
  driver: string,
  figure: "mainMicros" | "processMicros",
): readonly number[] {
  const own = resultsOf(size, harness);
  return resultsOf(size, driver).map((one, round) => one[figure] - (own[round]?.[figure] ?? 0));
}

/** Of each round: two clients measured one after the other share the machine's mood. */
function ratios(size: SizeName, driver: string): readonly number[] {
  const against = net(size, baseline, "mainMicros");
  return net(size, driver, "mainMicros").map((own, round) => own / (against[round] ?? Number.NaN));
}

function report(): void {
  const rows = chosenSizes.flatMap((size) =>
    drivers.map((driver) => {
      const all = resultsOf(size, driver);
      const figures = (name: keyof Measurement): readonly number[] => all.map((one) => one[name]);
      const isHarness = driver === harness;
      return [
        size,
        isHarness ? "the harness alone" : driver,
        spread(isHarness ? figures("mainMicros") : net(size, driver, "mainMicros")),
        isHarness || driver === baseline ? "" : spread(ratios(size, driver)),
        spread(isHarness ? figures("processMicros") : net(size, driver, "processMicros")),
        isHarness ? "" : spread(figures("runsPerSecond")),
        show(median(figures("peakRssMb"))),
        show(median(figures("longestCallMs"))),
        isHarness ? "" : show(median(figures("wireBytesPerRun")) / 1_000),
      ];
    }),
  );
  const head = [
    "size",
    "client",
    "main CPU µs/run",
    `main CPU, of ${baseline}'s`,
    "all threads µs/run",
    "runs/s",
    "peak RSS MB",
    "longest call ms",
    "kB/run sent",
  ];
  const counts = chosenSizes.map((size) => `${size} ${runsOf[size].toLocaleString("en-US")}`);
  const problems = failures();
  const notes = [
    `Median (lowest–highest) of ${rounds} interleaved rounds; ${counts.join(", ")} runs each after a warm-up of half as many.`,
    "A run is a start with inputs and an end with outputs, in trees of 1 + 9. The harness's own cost is subtracted.",
    ...problems.map((problem) => `**Failed:** ${problem}`),
  ];
  publish({
    script: "deliver",
    question: "What does a run cost until the server has it?",
    body: `${table(head, rows)}\n\n${notes.join("\n")}`,
  });
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** Loss always fails; a ratio only under `--guard`. */
function failures(): readonly string[] {
  const losses = chosenSizes.flatMap((size) =>
    drivers.flatMap((driver) => {
      const total = (name: "lost" | "missing"): number =>
        resultsOf(size, driver).reduce((sum, one) => sum + one[name], 0);
      const [lost, missing] = [total("lost"), total("missing")];
      return lost + missing === 0
        ? []
        : [`${driver} at ${size}: ${lost} runs given up, ${missing} never seen by the server.`];
    }),
  );
  const ratio = median(ratios(guarded.size, measured));
  // Written so that NaN, where nothing was measured, fails.
  const slow = flags.guard && !(ratio <= guarded.ratio);
  return slow
    ? [
        ...losses,
        `main CPU at ${guarded.size} is ${show(ratio)} of ${baseline}'s, more than ${guarded.ratio}.`,
      ]
    : losses;
}
