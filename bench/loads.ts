/** The kinds of load: what is measured for each, and which results of Millrace count as problems. */
import type { BurstFigures, LoadRequest, PacedFigures, BacklogFigures } from "./load-child.ts";
import { median, formatNumber, table } from "./results.ts";
import type { WorkloadName } from "./workloads.ts";

/** A measurement in one process. */
export interface LoadMeasurement {
  readonly key: string;
  readonly createRequest: (endpoint: string) => LoadRequest;
  readonly sinkDelayMs: number;
}

/** Figures of all rounds by the key of their measurement. */
class RoundFigures<Figures> {
  readonly #figures = new Map<string, Figures[]>();

  add(key: string, figures: unknown): void {
    // The child sends the figures that belong to the kind of its request.
    this.#figures.set(key, [...this.of(key), figures as Figures]);
  }

  of(key: string): readonly Figures[] {
    return this.#figures.get(key) ?? [];
  }

  each(key: string, figure: (figures: Figures) => number): readonly number[] {
    return this.of(key).map(figure);
  }
}

const harnessDriver = "none";
const ownDriver = "millrace";
/** The goals for Millrace. */
const maxRssMb = 300;
const maxBlockMs = 5;
/** Largest ratio of a run's cost with a long queue to that with a short one. It leaves a margin for noise. */
const maxGrowth = 2;

const worst = (values: readonly number[]): number => Math.max(...values);

/** Records a burst of runs that a slow server can't accept at once. */
export class Burst extends RoundFigures<BurstFigures> {
  readonly #drivers: readonly string[];
  readonly #runs = 15_000;
  readonly #delayMs = 100;

  constructor(drivers: readonly string[]) {
    super();
    this.#drivers = drivers;
  }

  get question(): string {
    return `A burst of ${formatNumber(this.#runs)} M runs to a server that responds after ${this.#delayMs} ms (\`none\`: the harness and its payloads alone):`;
  }

  measurements(): readonly LoadMeasurement[] {
    return this.#drivers.map((driver) => ({
      key: driver,
      sinkDelayMs: this.#delayMs,
      createRequest: (endpoint) => ({
        kind: "burst",
        driver,
        endpoint,
        workload: "M",
        runs: this.#runs,
      }),
    }));
  }

  table(): string {
    const rows = this.#drivers.map((driver) => [
      driver,
      driver === harnessDriver ? "" : `${formatNumber((this.#lost(driver) / this.#runs) * 100)} %`,
      driver === harnessDriver
        ? ""
        : formatNumber(median(this.each(driver, ({ seconds }) => seconds))),
      formatNumber(this.#rss(driver)),
    ]);
    return table(["client", "lost", "s until it reports that all is sent", "peak RSS MB"], rows);
  }

  problems(): readonly string[] {
    if (!this.#drivers.includes(ownDriver)) {
      return [];
    }
    const lost = this.#lost(ownDriver);
    const rss = this.#rss(ownDriver);
    return [
      ...(lost === 0 ? [] : [`Millrace lost ${lost} runs of the burst.`]),
      ...(rss <= maxRssMb
        ? []
        : [`the burst took ${formatNumber(rss)} MB, more than ${maxRssMb}.`]),
    ];
  }

  #lost(driver: string): number {
    return worst(this.each(driver, ({ missing }) => missing));
  }

  #rss(driver: string): number {
    return worst(this.each(driver, ({ peakRssMb }) => peakRssMb));
  }
}

/** Runs per second by workload, as in a busy service. */
const rates: readonly (readonly [WorkloadName, number])[] = [
  ["S", 2_000],
  ["M", 2_000],
  ["L", 500],
  ["XL", 50],
  ["agent", 500],
  ["conversation", 500],
];

/** Records runs at a steady rate. */
export class Paced extends RoundFigures<PacedFigures> {
  readonly #drivers: readonly string[];
  readonly #seconds: number;

  constructor(drivers: readonly string[], seconds: number) {
    super();
    this.#drivers = drivers;
    this.#seconds = seconds;
  }

  get question(): string {
    return [
      `A process that records steadily for ${this.#seconds} s (\`none\`: records nothing).`,
      "Delay: how much later than scheduled the event loop ran its turns, in wall-clock time; it includes effects of other processes.",
      "Block: the longest CPU time of the main thread between two turns, which are scheduled 1 ms apart; it does not include other processes.",
      "First: the CPU time of the first turn, in which code is loaded and a worker is started; the other figures are measured from one second later on.",
      "Each turn records one tree of ten runs.",
    ].join("\n");
  }

  measurements(): readonly LoadMeasurement[] {
    return rates.flatMap(([workload, runsPerSecond]) =>
      this.#drivers.map((driver) => ({
        key: `${workload} ${driver}`,
        sinkDelayMs: 0,
        createRequest: (endpoint) => ({
          kind: "paced",
          driver,
          endpoint,
          workload,
          runsPerSecond,
          seconds: this.#seconds,
        }),
      })),
    );
  }

  table(): string {
    const rows = rates.flatMap(([workload, runsPerSecond]) =>
      this.#drivers.map((driver) => {
        const key = `${workload} ${driver}`;
        return [
          workload,
          runsPerSecond,
          driver,
          ...(["delayMsP50", "delayMsP99", "delayMsMax"] as const).map((name) =>
            formatNumber(median(this.each(key, (figures) => figures[name]))),
          ),
          formatNumber(this.#longestBlockMs(key)),
          formatNumber(worst(this.each(key, ({ firstTurnMs }) => firstTurnMs))),
          formatNumber(worst(this.each(key, ({ peakRssMb }) => peakRssMb))),
          driver === harnessDriver ? "" : formatNumber(this.#lost(key)),
        ];
      }),
    );
    const delays = ["delay ms p50", "p99", "max"];
    const head = [
      "size",
      "runs/s",
      "client",
      ...delays,
      "block ms",
      "first ms",
      "peak RSS MB",
      "runs lost",
    ];
    return table(head, rows);
  }

  problems(): readonly string[] {
    if (!this.#drivers.includes(ownDriver)) {
      return [];
    }
    return rates.flatMap(([workload]) => {
      const key = `${workload} ${ownDriver}`;
      const lost = this.#lost(key);
      const blockMs =
        this.#longestBlockMs(key) - this.#longestBlockMs(`${workload} ${harnessDriver}`);
      return [
        ...(lost === 0 ? [] : [`Millrace lost ${lost} runs at ${workload}, paced.`]),
        ...(blockMs <= maxBlockMs
          ? []
          : [
              `Millrace blocked the event loop for ${formatNumber(blockMs)} ms more than the harness at ${workload}; the goal is ${maxBlockMs} ms.`,
            ]),
      ];
    });
  }

  #longestBlockMs(key: string): number {
    return worst(this.each(key, (figures) => figures.longestBlockMs ?? Number.NaN));
  }

  #lost(key: string): number {
    return worst(this.each(key, ({ missing }) => missing));
  }
}

const levels = [1_000, 10_000, 100_000, 1_000_000] as const;
/** A delay longer than the measurement, so that the server never responds and all recorded runs wait. */
const neverMs = 600_000;

/** Records runs while the server does not respond, so that the queue grows. */
export class Backlog extends RoundFigures<BacklogFigures> {
  readonly question =
    "Main-thread CPU time of a start and an end with Millrace while this many runs wait (`maxQueueBytes` 4 GiB, a server that does not respond); the first figure includes the warm-up:";

  measurements(): readonly LoadMeasurement[] {
    const createRequest = (endpoint: string): LoadRequest => ({
      kind: "waiting",
      driver: ownDriver,
      endpoint,
      levels,
    });
    return [{ key: ownDriver, sinkDelayMs: neverMs, createRequest }];
  }

  table(): string {
    const rows = levels.map((level, index) => [
      level.toLocaleString("en-US"),
      formatNumber(this.#micros(index)),
      index === 0 ? "" : formatNumber(this.#micros(index) / this.#micros(1)),
    ]);
    return table(["waiting runs", "µs", "relative to 10,000"], rows);
  }

  problems(): readonly string[] {
    const growth = this.#micros(levels.length - 1) / this.#micros(1);
    // The comparison is written so that NaN, without a measurement, counts as a failure.
    return growth <= maxGrowth
      ? []
      : [
          `with 1,000,000 waiting runs a run costs ${formatNumber(growth)} times as much as with 10,000.`,
        ];
  }

  #micros(index: number): number {
    return median(this.each(ownDriver, (figures) => figures[index] ?? Number.NaN));
  }
}
