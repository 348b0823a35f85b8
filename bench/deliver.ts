// What does it cost to record a run and deliver it to the server: main-thread CPU, total CPU, runs per second?
import { parseArgs } from "node:util";
import type { Measurement, MeasurementRequest } from "./child.ts";
import { baseline, Deliveries, harnessDriver, ownDriver } from "./deliveries.ts";
import { goalNode, goalTable } from "./goals.ts";
import { measureInProcess } from "./processes.ts";
import { median, publish, formatNumber, formatSpread, table } from "./results.ts";
import { runsPerTree, sizeNames } from "./workload.ts";
import { workloadNames, workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

/**
 * Largest ratio of Millrace's main-thread CPU time to that of the naive client that `--guard` accepts, by workload. It is at
 * least 1.5 times the measured ratio, so that noise of the machine does not exceed it.
 */
const guardLimits: Readonly<Partial<Record<WorkloadName, number>>> = { S: 0.6, M: 0.45 };
/**
 * Highest peak of the process's memory with Millrace that `--guard` accepts, in MB. The goal is 250, with up to 40 MB of
 * JSON ahead of the server; the figure varies by some 30.
 */
const maxGuardedRssMb = 300;
/** On one core Millrace must be at least as fast as this client. */
const oneCoreReference = "otlp-protobuf";

const warmupShare = 0.5;
/**
 * Shortest duration of the warm-up and of the measurement, whatever the number of runs. V8's compilers need time rather than
 * a number of runs, and rare events such as garbage collections should have the same weight for all clients.
 */
const minMs = 1_000;
/** Much slower clients record only this fraction of the runs. All figures are per run. */
const runShares: Readonly<Record<string, number>> = {
  langsmith: 0.1,
  "langsmith-tuned": 0.2,
  braintrust: 0.1,
};

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    sizes: { type: "string", default: "S,M,L,XL" },
    drivers: { type: "string", default: `${baseline},${ownDriver}` },
    /** Fraction of the usual number of runs to record. */
    share: { type: "string", default: "1" },
    /**
     * Does not extend the measurement to a minimum duration, as for a short program whose code V8 has not fully
     * compiled.
     */
    short: { type: "boolean", default: false },
    /** Pins all threads of the client to this core, and the sink to the next one. */
    cpu: { type: "string" },
    node: { type: "string" },
    guard: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});

const rounds = Number(flags.rounds);
const cpu = flags.cpu === undefined ? undefined : Number(flags.cpu);
const selectedWorkloads = workloadNames.filter((name) => flags.sizes.split(",").includes(name));
const drivers = [harnessDriver, ...flags.drivers.split(",")];
/** Whether clients other than Millrace and the baseline are measured. */
const hasOtherClients = drivers.length > 3;

const results = new Deliveries();
for (let round = 1; round <= rounds; round++) {
  for (const workload of selectedWorkloads) {
    for (const driver of drivers) {
      const measurement = await measure(workload, driver);
      results.add(workload, driver, measurement);
      const { mainMicros, runsPerSecond } = measurement;
      console.error(
        `round ${round}: ${workload} ${driver}, main thread ${formatNumber(mainMicros)} µs per run, ${formatNumber(runsPerSecond)} runs/s`,
      );
    }
  }
}
report();

function runCount(workload: WorkloadName, driver: string): number {
  return Math.ceil(workloads[workload].runs * (runShares[driver] ?? 1) * Number(flags.share));
}

/** Measures one client with one workload in a separate process, against a sink in another one. */
function measure(workload: WorkloadName, driver: string): Promise<Measurement> {
  const trees = Math.ceil(runCount(workload, driver) / runsPerTree);
  const warmupTrees = Math.ceil(trees * warmupShare);
  return measureInProcess<Measurement>(
    "child",
    (endpoint): MeasurementRequest => ({
      driver,
      workload,
      endpoint,
      trees,
      warmupTrees,
      minMs: flags.short ? 0 : minMs,
    }),
    { node: flags.node, cpu },
  );
}

function report(): void {
  const counts = selectedWorkloads.map((name) => `${name} ${formatNumber(runCount(name, ""))}`);
  const problems = findFailures();
  const notes = [
    `Median (lowest–highest) of ${rounds} interleaved rounds; ${counts.join(", ")} runs each (a tenth for braintrust and for langsmith with its defaults, a fifth for langsmith tuned) after a warm-up of half as many.${flags.short ? "" : " Both are repeated for at least a second."}`,
    "A run is a start with inputs and an end with outputs, in trees of one root and nine children. The harness's own CPU time is subtracted. Memory is that of the whole process, including Node, harness and payloads; the harness's row shows their share.",
    "Lost: runs that the server had not received whole (inputs and outputs) when the client reported that everything was sent.",
    ...(flags.node === undefined ? [] : [`The clients ran under Node ${flags.node}.`]),
    ...problems.map((problem) => `**Failed:** ${problem}`),
  ];
  const titleSuffix = hasOtherClients ? ", compared with other clients" : "";
  publish({
    script: "deliver",
    section: [
      flags.short ? "short" : undefined,
      cpu === undefined ? undefined : "one-core",
      hasOtherClients ? "peers" : "deliver",
      flags.node === undefined || flags.node === goalNode ? undefined : `node${flags.node}`,
    ]
      .filter((part) => part !== undefined)
      .join("-"),
    question:
      cpu === undefined
        ? `What does it cost to record and deliver a run${titleSuffix}?`
        : `What does a run cost if all threads of the program share one core${titleSuffix}?`,
    node: flags.node,
    body: [costTable(), ...goalTables(), ...comparisonTables(), notes.join("\n")].join("\n\n"),
  });
  process.exitCode = problems.length > 0 ? 1 : 0;
}

function costTable(): string {
  const rows = selectedWorkloads.flatMap((workload) =>
    drivers.map((driver) => costRow(workload, driver)),
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
    "MB/s",
    "lost",
  ];
  return table(head, rows);
}

function costRow(workload: WorkloadName, driver: string): readonly string[] {
  const figuresOfRounds = (figure: keyof Measurement): readonly number[] =>
    results.each(workload, driver, figure);
  const shownMedian = (figure: keyof Measurement): string =>
    formatNumber(median(figuresOfRounds(figure)));
  const isHarness = driver === harnessDriver;
  const cost = (figure: "mainMicros" | "processMicros"): string =>
    formatSpread(isHarness ? figuresOfRounds(figure) : results.cost(workload, driver, figure));
  return [
    workload,
    isHarness ? "the harness alone" : driver,
    cost("mainMicros"),
    isHarness || driver === baseline ? "" : formatSpread(ofBaseline(workload, driver)),
    cost("processMicros"),
    isHarness ? "" : formatSpread(figuresOfRounds("runsPerSecond")),
    shownMedian("peakRssMb"),
    `${shownMedian("callMicrosP50")} / ${shownMedian("callMicrosP99")}`,
    shownMedian("longestCallMs"),
    isHarness ? "" : formatNumber(median(figuresOfRounds("wireBytesPerRun")) / 1_000),
    isHarness ? "" : formatNumber(megabytesPerSecond(workload, driver)),
    isHarness ? "" : formatLoss(workload, driver),
  ];
}

/** Rate of request bodies, as sent, until the last acknowledgement. */
function megabytesPerSecond(workload: WorkloadName, driver: string): number {
  const rates = results.each(workload, driver, "runsPerSecond");
  const bytes = results.each(workload, driver, "wireBytesPerRun");
  return median(rates.map((rate, round) => rate * (bytes[round] ?? Number.NaN))) / 1_000_000;
}

function ofBaseline(workload: WorkloadName, driver: string): readonly number[] {
  const baselineCosts = results.cost(workload, baseline, "mainMicros");
  return results
    .cost(workload, driver, "mainMicros")
    .map((cost, round) => cost / (baselineCosts[round] ?? Number.NaN));
}

/** The percentage of recorded runs that the server never received whole. */
function formatLoss(workload: WorkloadName, driver: string): string {
  const missing = results.total(workload, driver, "missing");
  const recorded = results.total(workload, driver, "recorded");
  return missing === 0 ? "0" : `${formatNumber((missing / recorded) * 100)} %`;
}

/** The goals are defined for one Node version only, and for a client that may use several cores. */
function goalTables(): readonly string[] {
  const sizes = sizeNames.filter((size) => selectedWorkloads.includes(size));
  const areGoalsDefined = cpu === undefined && (flags.node ?? goalNode) === goalNode;
  return areGoalsDefined && drivers.includes(ownDriver) ? goalTable(results, sizes) : [];
}

/** The ratios of Millrace's figures to those of each other client. The list is empty if there is no other client. */
function comparisonTables(): readonly string[] {
  const peers = drivers.filter((driver) => driver !== harnessDriver && driver !== ownDriver);
  if (!drivers.includes(ownDriver) || peers.length === 0) {
    return [];
  }
  const figures = ["mainMicros", "processMicros", "runsPerSecond", "peakRssMb"] as const;
  const rows = selectedWorkloads.flatMap((workload) =>
    peers.map((peer) => [
      workload,
      peer,
      ...figures.map((figure) => formatSpread(results.ratios(workload, peer, figure))),
    ]),
  );
  const head = ["size", "millrace relative to", "main CPU", "all threads", "runs/s", "peak RSS"];
  return [table(head, rows)];
}

/** Lost runs of Millrace or of the baseline are always a failure, a bad ratio only with `--guard`. */
function findFailures(): readonly string[] {
  const requiredDrivers = drivers.filter((driver) => driver === ownDriver || driver === baseline);
  const losses = selectedWorkloads.flatMap((workload) =>
    requiredDrivers.flatMap((driver) => {
      const lost = results.total(workload, driver, "lost");
      const missing = results.total(workload, driver, "missing");
      return lost + missing === 0
        ? []
        : [
            `${driver} at ${workload}: ${lost} runs reported as lost, ${missing} not received by the server.`,
          ];
    }),
  );
  return flags.guard
    ? [...losses, ...findSlowWorkloads(), ...findLargeProcesses(), ...findSlowOnOneCore()]
    : losses;
}

function findLargeProcesses(): readonly string[] {
  return selectedWorkloads.flatMap((workload) => {
    const peakMb = median(results.each(workload, ownDriver, "peakRssMb"));
    return peakMb <= maxGuardedRssMb
      ? []
      : [
          `memory at ${workload} peaks at ${formatNumber(peakMb)} MB, more than ${maxGuardedRssMb}.`,
        ];
  });
}

function findSlowWorkloads(): readonly string[] {
  return selectedWorkloads.flatMap((workload) => {
    const limit = guardLimits[workload];
    const ratio = median(results.ratios(workload, baseline, "mainMicros"));
    // The comparison is written so that NaN, without a measurement, counts as a failure.
    return limit === undefined || ratio <= limit
      ? []
      : [
          `main-thread CPU at ${workload} is ${formatNumber(ratio)} of ${baseline}'s, more than ${limit}.`,
        ];
  });
}

function findSlowOnOneCore(): readonly string[] {
  return selectedWorkloads.flatMap((workload) => {
    const ratio = median(results.ratios(workload, oneCoreReference, "runsPerSecond"));
    return cpu === undefined || !drivers.includes(oneCoreReference) || ratio >= 1
      ? []
      : [
          `on one core Millrace reaches ${formatNumber(ratio)} of ${oneCoreReference}'s runs per second at ${workload}.`,
        ];
  });
}
