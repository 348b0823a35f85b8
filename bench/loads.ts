/** The kinds of load, what is measured of each, and what of ours would be a fault. */
import type { BurstFigures, LoadOrder, PacedFigures, WaitingFigures } from "./load-child.ts";
import { median, show, table } from "./results.ts";
import type { WorkloadName } from "./workloads.ts";

/** One process's worth. */
export interface LoadMeasurement {
  readonly key: string;
  readonly orderFor: (endpoint: string) => LoadOrder;
  readonly sinkDelayMs: number;
}

/** Figures of all rounds, by what they are of. */
class Rounds<Figures> {
  readonly #figures = new Map<string, Figures[]>();

  add(key: string, figures: unknown): void {
    // What the child sends is what its order asks for.
    this.#figures.set(key, [...this.of(key), figures as Figures]);
  }

  of(key: string): readonly Figures[] {
    return this.#figures.get(key) ?? [];
  }

  each(key: string, figure: (one: Figures) => number): readonly number[] {
    return this.of(key).map(figure);
  }
}

const harness = "none";
const measured = "millrace";
/** The goals, for ours. */
const mostRssMb = 300;
const longestHoldMs = 5;
/** How much more a run may cost in a long queue than in a short one: above what noise makes of it. */
const flatness = 2;

const worst = (values: readonly number[]): number => Math.max(...values);

/** More at once than a slow server takes. */
export class Burst extends Rounds<BurstFigures> {
  readonly #drivers: readonly string[];
  readonly #runs = 15_000;
  readonly #answerMs = 100;

  constructor(drivers: readonly string[]) {
    super();
    this.#drivers = drivers;
  }

  get question(): string {
    return `A burst of ${show(this.#runs)} M runs to a server that answers after ${this.#answerMs} ms (\`none\`: the harness and its payloads alone):`;
  }

  measurements(): readonly LoadMeasurement[] {
    return this.#drivers.map((driver) => ({
      key: driver,
      sinkDelayMs: this.#answerMs,
      orderFor: (endpoint) => ({
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
      driver === harness ? "" : `${show((this.#lost(driver) / this.#runs) * 100)} %`,
      driver === harness ? "" : show(median(this.each(driver, ({ seconds }) => seconds))),
      show(this.#rss(driver)),
    ]);
    return table(["client", "lost", "s until it says that all is sent", "peak RSS MB"], rows);
  }

  problems(): readonly string[] {
    if (!this.#drivers.includes(measured)) {
      return [];
    }
    const lost = this.#lost(measured);
    const rss = this.#rss(measured);
    return [
      ...(lost === 0 ? [] : [`of the burst ${lost} runs of ours were lost.`]),
      ...(rss <= mostRssMb ? [] : [`the burst took ${show(rss)} MB, more than ${mostRssMb}.`]),
    ];
  }

  #lost(driver: string): number {
    return worst(this.each(driver, ({ missing }) => missing));
  }

  #rss(driver: string): number {
    return worst(this.each(driver, ({ peakRssMb }) => peakRssMb));
  }
}

/** Runs a second, by workload: what a busy service records. */
const rates: readonly (readonly [WorkloadName, number])[] = [
  ["S", 2_000],
  ["M", 2_000],
  ["L", 500],
  ["XL", 50],
  ["agent", 500],
  ["conversation", 500],
];

/** A program that records steadily. */
export class Paced extends Rounds<PacedFigures> {
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
      "Delay: how much later than asked for the event loop took its turns, by the clock; what else runs on the machine is in it.",
      "Hold: the most CPU time of the main thread between two turns, 1 ms apart where nothing holds it; what else runs is not in it.",
      "First: the CPU time of the first turn of all, in which code is loaded and a worker is asked for; the rest is watched from a second later on.",
      "Each turn records one tree of ten runs.",
    ].join("\n");
  }

  measurements(): readonly LoadMeasurement[] {
    return rates.flatMap(([workload, runsPerSecond]) =>
      this.#drivers.map((driver) => ({
        key: `${workload} ${driver}`,
        sinkDelayMs: 0,
        orderFor: (endpoint) => ({
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
            show(median(this.each(key, (one) => one[name]))),
          ),
          show(this.#hold(key)),
          show(worst(this.each(key, ({ firstTurnMs }) => firstTurnMs))),
          show(worst(this.each(key, ({ peakRssMb }) => peakRssMb))),
          driver === harness ? "" : show(this.#lost(key)),
        ];
      }),
    );
    const delays = ["delay ms p50", "p99", "max"];
    const head = [
      "size",
      "runs/s",
      "client",
      ...delays,
      "hold ms",
      "first ms",
      "peak RSS MB",
      "runs lost",
    ];
    return table(head, rows);
  }

  problems(): readonly string[] {
    if (!this.#drivers.includes(measured)) {
      return [];
    }
    return rates.flatMap(([workload]) => {
      const key = `${workload} ${measured}`;
      const lost = this.#lost(key);
      const hold = this.#hold(key) - this.#hold(`${workload} ${harness}`);
      return [
        ...(lost === 0 ? [] : [`${lost} runs of ours were lost at ${workload}, paced.`]),
        ...(hold <= longestHoldMs
          ? []
          : [
              `ours held the loop for ${show(hold)} ms more than the harness does at ${workload}; the goal is ${longestHoldMs}.`,
            ]),
      ];
    });
  }

  #hold(key: string): number {
    return worst(this.each(key, (one) => one.longestHoldMs ?? Number.NaN));
  }

  #lost(key: string): number {
    return worst(this.each(key, ({ missing }) => missing));
  }
}

const levels = [1_000, 10_000, 100_000, 1_000_000] as const;
/** Longer than the measurement: what is recorded stays. */
const neverMs = 600_000;

/** A server that does not answer. */
export class Waiting extends Rounds<WaitingFigures> {
  readonly question =
    "Main-thread CPU of a start and an end of ours while this many runs wait (`maxQueueBytes` 4 GiB, a server that does not answer); the first has the warming up in it:";

  measurements(): readonly LoadMeasurement[] {
    const orderFor = (endpoint: string): LoadOrder => ({
      kind: "waiting",
      driver: measured,
      endpoint,
      levels,
    });
    return [{ key: measured, sinkDelayMs: neverMs, orderFor }];
  }

  table(): string {
    const rows = levels.map((level, at) => [
      level.toLocaleString("en-US"),
      show(this.#micros(at)),
      at === 0 ? "" : show(this.#micros(at) / this.#micros(1)),
    ]);
    return table(["runs that wait", "µs", "of that at 10,000"], rows);
  }

  problems(): readonly string[] {
    const growth = this.#micros(levels.length - 1) / this.#micros(1);
    // Written so that NaN, where nothing was measured, fails.
    return growth <= flatness
      ? []
      : [`with 1,000,000 runs waiting a run costs ${show(growth)} times what it does with 10,000.`];
  }

  #micros(at: number): number {
    return median(this.each(measured, (one) => one[at] ?? Number.NaN));
  }
}
