// Under load, what is lost, how long does a client hold the event loop, and does a long queue cost more?
import { parseArgs } from "node:util";
import type { BurstFigures, LoadOrder, PacedFigures, WaitingFigures } from "./load-child.ts";
import { measureIn } from "./processes.ts";
import { median, publish, show, table } from "./results.ts";
import type { WorkloadName } from "./workloads.ts";

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    drivers: {
      type: "string",
      default:
        "naive,otlp-protobuf,otlp-json,langsmith,langsmith-tuned,langfuse,braintrust,millrace",
    },
    node: { type: "string" },
    save: { type: "boolean", default: false },
  },
});
const rounds = Number(flags.rounds);
const drivers = flags.drivers.split(",");

const burstRuns = 15_000;
const slowAnswerMs = 100;
const pacedSeconds = 5;
/** Runs a second, by size: what a busy service records. */
const rates: readonly (readonly [WorkloadName, number])[] = [
  ["S", 2_000],
  ["M", 2_000],
  ["L", 500],
  ["XL", 50],
];
const levels = [1_000, 10_000, 100_000, 1_000_000];
/** Longer than the measurement: what is recorded stays. */
const neverMs = 600_000;

const perRound = async <Answer>(
  orderFor: (endpoint: string) => LoadOrder,
  sinkDelayMs = 0,
): Promise<readonly Answer[]> => {
  const answers: Answer[] = [];
  for (let round = 0; round < rounds; round++) {
    const init = { sinkDelayMs, node: flags.node };
    answers.push(await measureIn<Answer>("load-child", orderFor, init));
  }
  return answers;
};

const of = <Figures>(all: readonly Figures[], figure: (one: Figures) => number): number =>
  median(all.map(figure));

publish({
  script: "load",
  question: "What is lost, held and slowed under load?",
  body: [
    `A burst of ${burstRuns.toLocaleString("en-US")} M runs to a server that answers after ${slowAnswerMs} ms:`,
    await bursts(),
    `Event-loop delay of a process that records steadily for ${pacedSeconds} s (\`none\`: records nothing):`,
    await pacedLoads(),
    "Main-thread CPU of a start and an end while this many runs wait (`maxQueueBytes` 4 GiB, a server that does not answer):",
    await queues(),
    `Rounds: ${rounds}; medians.${flags.node === undefined ? "" : ` The clients ran under Node ${flags.node}.`}`,
  ].join("\n\n"),
});

async function bursts(): Promise<string> {
  const rows: (readonly (string | number)[])[] = [];
  for (const driver of drivers) {
    const all = await perRound<BurstFigures>(
      (endpoint) => ({ kind: "burst", driver, endpoint, workload: "M", runs: burstRuns }),
      slowAnswerMs,
    );
    const lost = of(all, ({ missing }) => missing) / burstRuns;
    const row = [
      driver,
      `${show(lost * 100)} %`,
      show(of(all, ({ seconds }) => seconds)),
      show(of(all, (one) => one.peakRssMb)),
    ];
    console.error(row.join(" "));
    rows.push(row);
  }
  return table(["client", "lost", "s until it says that all is sent", "peak RSS MB"], rows);
}

async function pacedLoads(): Promise<string> {
  const rows: (readonly (string | number)[])[] = [];
  for (const [workload, runsPerSecond] of rates) {
    for (const driver of ["none", ...drivers]) {
      const order = {
        kind: "paced",
        driver,
        workload,
        runsPerSecond,
        seconds: pacedSeconds,
      } as const;
      const all = await perRound<PacedFigures>((endpoint) => ({ ...order, endpoint }));
      const row = [
        workload,
        runsPerSecond,
        driver,
        ...(["delayMsP50", "delayMsP99", "delayMsMax", "missing"] as const).map((name) =>
          show(of(all, (one) => one[name])),
        ),
      ];
      console.error(row.join(" "));
      rows.push(row);
    }
  }
  return table(["size", "runs/s", "client", "p50 ms", "p99 ms", "max ms", "runs lost"], rows);
}

async function queues(): Promise<string> {
  const all = await perRound<WaitingFigures>(
    (endpoint) => ({ kind: "waiting", driver: "millrace", endpoint, levels }),
    neverMs,
  );
  const rows = levels.map((level, at) => [
    level.toLocaleString("en-US"),
    show(of(all, (one) => one[at] ?? Number.NaN)),
  ]);
  return table(["runs that wait", "µs"], rows);
}
