// What does recording a run cost until the server has it: main-thread CPU, all CPU, runs a second?
import { parseArgs } from "node:util";
import type { Measurement, Order } from "./child.ts";
import { baseline, Deliveries, harness, measured } from "./deliveries.ts";
import { goalNode, goalTable } from "./goals.ts";
import { measureIn } from "./processes.ts";
import { median, publish, show, spread, table } from "./results.ts";
import { runsPerTree, sizeNames } from "./workload.ts";
import { workloadNames, workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

/**
 * Main-thread CPU of ours over the naive client's that `--guard` lets pass, by workload: half as much
 * again, or more, as what is measured, so that the machine's noise does not reach it.
 */
const guards: Readonly<Partial<Record<WorkloadName, number>>> = { S: 0.6, M: 0.45 };
/** On one core ours is to be as fast as this client. */
const oneCorePeer = "otlp-protobuf";

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
    /** Of the usual number of runs. */
    share: { type: "string", default: "1" },
    /** All threads of the client on this core, the sink on the next, or on the first behind the last. */
    cpu: { type: "string" },
    node: { type: "string" },
    guard: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});

const rounds = Number(flags.rounds);
const cpu = flags.cpu === undefined ? undefined : Number(flags.cpu);
const chosen = workloadNames.filter((name) => flags.sizes.split(",").includes(name));
const drivers = [harness, ...flags.drivers.split(",")];
/** Ours beside a naive client, or beside its peers. */
const hasPeers = drivers.length > 3;

const results = new Deliveries();
for (let round = 1; round <= rounds; round++) {
  for (const workload of chosen) {
    for (const driver of drivers) {
      const measurement = await measure(workload, driver);
      results.add(workload, driver, measurement);
      const { mainMicros, runsPerSecond } = measurement;
      console.error(
        `round ${round}: ${workload} ${driver}, main ${show(mainMicros)} µs a run, ${show(runsPerSecond)} runs/s`,
      );
    }
  }
}
report();

function runsOf(workload: WorkloadName, driver: string): number {
  return Math.ceil(workloads[workload].runs * (slowShare[driver] ?? 1) * Number(flags.share));
}

/** One client with one workload, in a process of its own, against a sink in another. */
function measure(workload: WorkloadName, driver: string): Promise<Measurement> {
  const trees = Math.ceil(runsOf(workload, driver) / runsPerTree);
  const warmupTrees = Math.ceil(trees * warmupShare);
  return measureIn<Measurement>(
    "child",
    (endpoint): Order => ({ driver, workload, endpoint, trees, warmupTrees }),
    { node: flags.node, cpu },
  );
}

function report(): void {
  const counts = chosen.map((name) => `${name} ${show(runsOf(name, ""))}`);
  const problems = failures();
  const notes = [
    `Median (lowest–highest) of ${rounds} interleaved rounds; ${counts.join(", ")} runs each (braintrust and langsmith with its defaults a tenth, langsmith tuned a fifth) after a warm-up of half as many, both again and again for a second at least.`,
    "A run is a start with inputs and an end with outputs, in trees of 1 + 9. The harness's own CPU is subtracted; memory is that of the whole process, Node, harness and payloads included, which stand in the harness's row.",
    "Lost: runs that the server had not got whole (inputs and outputs) when the client said that it had sent everything.",
    ...(flags.node === undefined ? [] : [`The clients ran under Node ${flags.node}.`]),
    ...problems.map((problem) => `**Failed:** ${problem}`),
  ];
  const beside = hasPeers ? ", beside other clients" : "";
  publish({
    script: "deliver",
    section: [
      cpu === undefined ? undefined : "one-core",
      hasPeers ? "peers" : "deliver",
      flags.node === undefined || flags.node === goalNode ? undefined : `node${flags.node}`,
    ]
      .filter((part) => part !== undefined)
      .join("-"),
    question:
      cpu === undefined
        ? `What does a run cost until the server has it${beside}?`
        : `What does a run cost where all threads of the program share one core${beside}?`,
    node: flags.node,
    body: [costs(), ...goalsOf(), ...comparison(), notes.join("\n")].join("\n\n"),
  });
  process.exitCode = problems.length > 0 ? 1 : 0;
}

function costs(): string {
  const rows = chosen.flatMap((workload) => drivers.map((driver) => rowOf(workload, driver)));
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

function rowOf(workload: WorkloadName, driver: string): readonly string[] {
  const each = (figure: keyof Measurement): readonly number[] =>
    results.each(workload, driver, figure);
  const shownMedian = (figure: keyof Measurement): string => show(median(each(figure)));
  const isHarness = driver === harness;
  const cost = (figure: "mainMicros" | "processMicros"): string =>
    spread(isHarness ? each(figure) : results.cost(workload, driver, figure));
  return [
    workload,
    isHarness ? "the harness alone" : driver,
    cost("mainMicros"),
    isHarness || driver === baseline ? "" : spread(ofBaseline(workload, driver)),
    cost("processMicros"),
    isHarness ? "" : spread(each("runsPerSecond")),
    shownMedian("peakRssMb"),
    `${shownMedian("callMicrosP50")} / ${shownMedian("callMicrosP99")}`,
    shownMedian("longestCallMs"),
    isHarness ? "" : show(median(each("wireBytesPerRun")) / 1_000),
    isHarness ? "" : show(megabytesPerSecond(workload, driver)),
    isHarness ? "" : lossOf(workload, driver),
  ];
}

/** Bodies of requests, as sent, until the last was acknowledged. */
function megabytesPerSecond(workload: WorkloadName, driver: string): number {
  const rates = results.each(workload, driver, "runsPerSecond");
  const bytes = results.each(workload, driver, "wireBytesPerRun");
  return median(rates.map((rate, round) => rate * (bytes[round] ?? Number.NaN))) / 1_000_000;
}

function ofBaseline(workload: WorkloadName, driver: string): readonly number[] {
  const others = results.cost(workload, baseline, "mainMicros");
  return results
    .cost(workload, driver, "mainMicros")
    .map((one, round) => one / (others[round] ?? Number.NaN));
}

/** Runs that the server never had whole, of those that were recorded. */
function lossOf(workload: WorkloadName, driver: string): string {
  const missing = results.total(workload, driver, "missing");
  const recorded = results.total(workload, driver, "recorded");
  return missing === 0 ? "0" : `${show((missing / recorded) * 100)} %`;
}

/** They are meant for one Node; the others have the order of clients to keep. */
function goalsOf(): readonly string[] {
  const sizes = sizeNames.filter((size) => chosen.includes(size));
  const isMeant = cpu === undefined && (flags.node ?? goalNode) === goalNode;
  return isMeant && drivers.includes(measured) ? goalTable(results, sizes) : [];
}

/** Ours over each other client's, round by round; nothing where there is nobody to compare with. */
function comparison(): readonly string[] {
  const peers = drivers.filter((driver) => driver !== harness && driver !== measured);
  if (!drivers.includes(measured) || peers.length === 0) {
    return [];
  }
  const figures = ["mainMicros", "processMicros", "runsPerSecond", "peakRssMb"] as const;
  const rows = chosen.flatMap((workload) =>
    peers.map((peer) => [
      workload,
      peer,
      ...figures.map((figure) => spread(results.ratios(workload, peer, figure))),
    ]),
  );
  const head = ["size", "ours, of", "main CPU", "all threads", "runs/s", "peak RSS"];
  return [table(head, rows)];
}

/** Loss of ours and of the baseline always fails; a ratio only under `--guard`. */
function failures(): readonly string[] {
  const strict = drivers.filter((driver) => driver === measured || driver === baseline);
  const losses = chosen.flatMap((workload) =>
    strict.flatMap((driver) => {
      const lost = results.total(workload, driver, "lost");
      const missing = results.total(workload, driver, "missing");
      return lost + missing === 0
        ? []
        : [`${driver} at ${workload}: ${lost} runs given up, ${missing} never seen by the server.`];
    }),
  );
  return flags.guard ? [...losses, ...slow(), ...slowOnOneCore()] : losses;
}

function slow(): readonly string[] {
  return chosen.flatMap((workload) => {
    const most = guards[workload];
    const ratio = median(results.ratios(workload, baseline, "mainMicros"));
    // Written so that NaN, where nothing was measured, fails.
    return most === undefined || ratio <= most
      ? []
      : [`main CPU at ${workload} is ${show(ratio)} of ${baseline}'s, more than ${most}.`];
  });
}

function slowOnOneCore(): readonly string[] {
  return chosen.flatMap((workload) => {
    const ratio = median(results.ratios(workload, oneCorePeer, "runsPerSecond"));
    return cpu === undefined || !drivers.includes(oneCorePeer) || ratio >= 1
      ? []
      : [`on one core ours has ${show(ratio)} of ${oneCorePeer}'s runs a second at ${workload}.`];
  });
}
