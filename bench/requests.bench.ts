// What does recording cost a Fastify service for each request, at a fixed rate and when it is saturated?
import { parseArgs } from "node:util";
import { sendRequests } from "./autocannon.mjs";
import { withChild, withSink } from "./processes.ts";
import type { RequestsFigures, RequestsPhase, RequestsRequest } from "./requests-child.ts";
import { formatNumber, formatSpread, median, publish, table } from "./results.ts";
import { workloadNames } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

const harness = "none";
const own = "millrace";
/** Largest CPU time of a request with Millrace, relative to one without recording. */
const goal = 1.1;
const connections = 10;
const warmupSeconds = 4;

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    sizes: { type: "string", default: "S,M" },
    /** Requests per second; 0 for as many as the service answers. */
    rates: { type: "string", default: "100,0" },
    drivers: { type: "string", default: `${own},otlp-protobuf,langsmith` },
    seconds: { type: "string", default: "8" },
    node: { type: "string" },
    save: { type: "boolean", default: false },
  },
});
const rounds = Number(flags.rounds);
const seconds = Number(flags.seconds);
const drivers = [harness, ...flags.drivers.split(",")];
const sizes = workloadNames.filter((name) => flags.sizes.split(",").includes(name));

interface Load {
  readonly workload: WorkloadName;
  /** `undefined`: as many as the service answers. */
  readonly requestsPerSecond: number | undefined;
}

const loads: readonly Load[] = flags.rates.split(",").flatMap((rate) =>
  sizes.map((workload) => ({
    workload,
    requestsPerSecond: rate === "0" ? undefined : Number(rate),
  })),
);

interface Figures extends RequestsFigures {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly requestsPerSecond: number;
  readonly failed: number;
}

const measured = new Map<string, Figures[]>();
const keyOf = ({ workload, requestsPerSecond }: Load, driver: string): string =>
  `${workload} ${requestsPerSecond ?? "saturated"} ${driver}`;

for (let round = 1; round <= rounds; round++) {
  for (const load of loads) {
    for (const driver of drivers) {
      const figures = await measure(load, driver);
      const key = keyOf(load, driver);
      measured.set(key, [...(measured.get(key) ?? []), figures]);
      console.error(
        `round ${round}: ${key}, ${formatNumber(figures.allMs)} ms of CPU per request, ${formatNumber(figures.requestsPerSecond)} requests/s`,
      );
    }
  }
}
report();

function measure({ workload, requestsPerSecond }: Load, driver: string): Promise<Figures> {
  return withSink((endpoint) =>
    withChild("requests-child", { node: flags.node }, async (ask) => {
      const url = await ask({ driver, workload, endpoint } satisfies RequestsRequest);
      const load = { url: url as string, connections, requestsPerSecond };
      await sendRequests({ ...load, seconds: warmupSeconds });
      await ask("begin" satisfies RequestsPhase);
      const { latenciesMs, failed } = await sendRequests({ ...load, seconds });
      const figures = (await ask("end" satisfies RequestsPhase)) as RequestsFigures;
      const sorted = latenciesMs.toSorted((a, b) => a - b);
      return {
        ...figures,
        p50Ms: quantile(sorted, 0.5),
        p99Ms: quantile(sorted, 0.99),
        requestsPerSecond: latenciesMs.length / seconds,
        failed,
      };
    }),
  );
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

function each(load: Load, driver: string, figure: keyof Figures): readonly number[] {
  return (measured.get(keyOf(load, driver)) ?? []).map((figures) => figures[figure]);
}

/** A figure of each round, relative to that of the service without recording in the same round. */
function ofHarness(load: Load, driver: string, figure: keyof Figures): readonly number[] {
  const withoutRecording = each(load, harness, figure);
  return each(load, driver, figure).map(
    (value, round) => value / (withoutRecording[round] ?? Number.NaN),
  );
}

function report(): void {
  const rows = loads.flatMap((load) =>
    drivers.map((driver) => [
      load.workload,
      load.requestsPerSecond ?? "saturated",
      driver === harness ? "no recording" : driver,
      formatSpread(each(load, driver, "mainMs")),
      formatSpread(each(load, driver, "allMs")),
      driver === harness ? "" : formatSpread(ofHarness(load, driver, "allMs")),
      formatSpread(each(load, driver, "p50Ms")),
      formatSpread(each(load, driver, "p99Ms")),
      formatSpread(each(load, driver, "requestsPerSecond")),
      formatNumber(Math.max(...each(load, driver, "missing"))),
    ]),
  );
  const goalRows = drivers.includes(own)
    ? loads.map((load) => {
        const ratio = median(ofHarness(load, own, "allMs"));
        return [
          `${load.workload}, ${load.requestsPerSecond === undefined ? "saturated" : `${load.requestsPerSecond} requests/s`}: CPU of a request, relative to no recording`,
          formatNumber(ratio),
          `≤ ${goal}${ratio <= goal ? "" : ", **missed**"}`,
        ];
      })
    : [];
  const problems = loads.flatMap((load) => {
    const failed = Math.max(...drivers.flatMap((driver) => each(load, driver, "failed")));
    const missing = Math.max(0, ...each(load, own, "missing"));
    return [
      ...(failed === 0 ? [] : [`${failed} requests failed.`]),
      ...(missing === 0 ? [] : [`Millrace lost ${missing} runs.`]),
    ];
  });
  publish({
    script: "requests",
    section: flags.node === undefined ? "requests" : `requests-node${flags.node}`,
    question: "What does recording cost a Fastify service for each request?",
    node: flags.node,
    body: [
      table(
        [
          "size",
          "requests/s",
          "client",
          "main thread ms",
          "all threads ms",
          "of no recording",
          "p50 ms",
          "p99 ms",
          "answered/s",
          "runs missing",
        ],
        rows,
      ),
      ...(goalRows.length > 0 ? [table(["millrace", "measured", "goal"], goalRows)] : []),
      [
        `Median (lowest–highest) of ${rounds} interleaved rounds of ${seconds} s, after a warm-up of ${warmupSeconds} s. CPU time per request, including the service's own work of about a millisecond. Each request records five runs. autocannon sends the requests over ${connections} connections, from another process.`,
        ...problems.map((problem) => `**Failed:** ${problem}`),
      ].join("\n"),
    ].join("\n\n"),
  });
  process.exitCode = problems.length > 0 ? 1 : 0;
}
