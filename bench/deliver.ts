// What does recording a run cost until the server has it: main-thread CPU, all CPU, runs a second?
import { parseArgs } from "node:util";
import type { Measurement, Order } from "./child.ts";
import { measureIn } from "./processes.ts";
import { median, publish, show, spread, table } from "./results.ts";
import { runsPerTree } from "./workload.ts";
import { workloadNames, workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

/** The client that ratios are against, and the empty one that says what the harness costs. */
const baseline = "naive";
const harness = "none";
const measured = "millrace";

/** Main-thread CPU of ours over the naive client's that `--guard` lets pass. */
const guarded = { size: "M", ratio: 0.45 } as const;

const warmupShare = 0.5;
/** Clients that take many times as long record this share of the runs; figures are per run. */
const slowShare: Readonly<Record<string, number>> = {
  langsmith: 0.1,
  "langsmith-tuned": 0.2,
  braintrust: 0.1,
};

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    sizes: { type: "string", default: "S,M,L,XL" },
    drivers: { type: "string", default: `${baseline},${measured}` },
    node: { type: "string" },
    guard: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});

const rounds = Number(flags.rounds);
const chosenSizes = workloadNames.filter((size) => flags.sizes.split(",").includes(size));
const drivers = [harness, ...flags.drivers.split(",")];

/** Every measurement, in the order of its rounds, by size and driver. */
const results = new Map<string, Measurement[]>();
const resultsOf = (size: WorkloadName, driver: string): readonly Measurement[] =>
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

function runsOf(workload: WorkloadName, driver: string): number {
  return Math.ceil(workloads[workload].runs * (slowShare[driver] ?? 1));
}

/** One client at one size, in a process of its own, against a sink in another. */
function measure(workload: WorkloadName, driver: string): Promise<Measurement> {
  const trees = Math.ceil(runsOf(workload, driver) / runsPerTree);
  const warmupTrees = Math.ceil(trees * warmupShare);
  return measureIn<Measurement>(
    "child",
    (endpoint): Order => ({ driver, workload, endpoint, trees, warmupTrees }),
    { node: flags.node },
  );
}

/** A figure of each round, the harness's of the same round subtracted. */
function net(
  size: WorkloadName,
  driver: string,
  figure: "mainMicros" | "processMicros",
): readonly number[] {
  const own = resultsOf(size, harness);
  return resultsOf(size, driver).map((one, round) => one[figure] - (own[round]?.[figure] ?? 0));
}

/** Main-thread CPU against the baseline's. */
function ratios(size: WorkloadName, driver: string): readonly number[] {
  return quotients(net(size, driver, "mainMicros"), net(size, baseline, "mainMicros"));
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
        ["callMicrosP50", "callMicrosP99"]
          .map((name) => show(median(figures(name as keyof Measurement))))
          .join(" / "),
        show(median(figures("longestCallMs"))),
        isHarness ? "" : show(median(figures("wireBytesPerRun")) / 1_000),
        isHarness ? "" : share(lossOf(size, driver)),
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
    "call µs p50 / p99",
    "longest call ms",
    "kB/run sent",
    "lost",
  ];
  const counts = chosenSizes.map(
    (size) => `${size} ${workloads[size].runs.toLocaleString("en-US")}`,
  );
  const problems = failures();
  const notes = [
    `Median (lowest–highest) of ${rounds} interleaved rounds; ${counts.join(", ")} runs each (braintrust and langsmith with its defaults a tenth, langsmith tuned a fifth) after a warm-up of half as many.`,
    "A run is a start with inputs and an end with outputs, in trees of 1 + 9. The harness's own cost is subtracted.",
    "Lost: runs that the server had not got whole (inputs and outputs) when the client said that it had sent everything.",
    ...(flags.node === undefined ? [] : [`The clients ran under Node ${flags.node}.`]),
    ...problems.map((problem) => `**Failed:** ${problem}`),
  ];
  publish({
    script: "deliver",
    // Ours beside a naive client, or beside its peers.
    ...(drivers.length > 3 ? { section: "peers" } : {}),
    question: `What does a run cost until the server has it${drivers.length > 3 ? ", beside other clients" : ""}?`,
    body: [table(head, rows), ...comparison(), notes.join("\n")].join("\n\n"),
  });
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** Ours over each other client's, round by round; nothing where there is nobody to compare with. */
function comparison(): readonly string[] {
  const peers = drivers.filter((driver) => driver !== harness && driver !== measured);
  if (!drivers.includes(measured) || peers.length === 0) {
    return [];
  }
  const rows = chosenSizes.flatMap((size) =>
    peers.map((peer) => [
      size,
      peer,
      spread(quotients(net(size, measured, "mainMicros"), net(size, peer, "mainMicros"))),
      spread(quotients(net(size, measured, "processMicros"), net(size, peer, "processMicros"))),
      ...(["runsPerSecond", "peakRssMb"] as const).map((name) =>
        spread(quotients(raw(size, measured, name), raw(size, peer, name))),
      ),
    ]),
  );
  const head = ["size", "ours, of", "main CPU", "all threads", "runs/s", "peak RSS"];
  return [table(head, rows)];
}

function raw(size: WorkloadName, driver: string, name: keyof Measurement): readonly number[] {
  return resultsOf(size, driver).map((one) => one[name]);
}

/** Of each round: two clients measured one after the other share the machine's mood. */
function quotients(own: readonly number[], others: readonly number[]): readonly number[] {
  return own.map((value, round) => value / (others[round] ?? Number.NaN));
}

/** Runs that the server never had whole, of those that were recorded. */
function lossOf(size: WorkloadName, driver: string): number {
  const missing = raw(size, driver, "missing").reduce((sum, one) => sum + one, 0);
  return missing / (rounds * runsOf(size, driver) * (1 + warmupShare));
}

function share(value: number): string {
  return value === 0 ? "0" : `${show(value * 100)} %`;
}

/** Loss of ours and of the baseline always fails; a ratio only under `--guard`. */
function failures(): readonly string[] {
  const strict = drivers.filter((driver) => driver === measured || driver === baseline);
  const losses = chosenSizes.flatMap((size) =>
    strict.flatMap((driver) => {
      const total = (name: "lost" | "missing"): number =>
        raw(size, driver, name).reduce((sum, one) => sum + one, 0);
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
