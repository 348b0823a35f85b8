import type { Screen } from "../transfers/show-progress.ts";
import type { Figures } from "./meter.ts";
import type { LoadPlan } from "./record-load.ts";
import { sizes } from "./workload.ts";

/** Between two looks at a terminal, and between two lines elsewhere. */
const redrawMs = 250;
const lineEveryMs = 5_000;

/** Shows how a load goes: in place on a terminal, elsewhere as a line every five seconds. */
export function showFigures(screen: Screen, figures: () => Figures): { readonly stop: () => void } {
  if (screen.isTTY !== true) {
    const timer = setInterval(() => screen.write(`${lineOf(figures())}\n`), lineEveryMs).unref();
    return { stop: () => clearInterval(timer) };
  }
  let height = 0;
  const clear = (): void => {
    if (height > 0) {
      screen.write(`\u001b[${height}A\u001b[J`);
    }
  };
  const draw = (): void => {
    const lines = linesOf(figures());
    clear();
    height = lines.length;
    screen.write(lines.map((line) => `${line.slice(0, (screen.columns ?? 80) - 1)}\n`).join(""));
  };
  const timer = setInterval(draw, redrawMs).unref();
  return {
    stop: () => {
      clearInterval(timer);
      clear();
    },
  };
}

/** The report that a person reads at the end. */
export function describe(figures: Figures, { size, rate, workers }: LoadPlan): string {
  const pace = rate === undefined ? "as fast as the server took them" : `${whole(rate)} a second`;
  const threads = workers === undefined ? "" : `, workers: ${workers}`;
  const kilobytes = sizes[size].runBytes / 1_000;
  const head = `${whole(figures.recorded)} runs of size ${size} (${kilobytes} kB of JSON each), ${pace}${threads}; ${figures.seconds.toFixed(1)} s`;
  return [head, ...linesOf(figures)].map((line) => `${line}\n`).join("");
}

function linesOf(figures: Figures): readonly string[] {
  const { recorded, acknowledged, pending, dropped, lostRecords, eventLoop } = figures;
  const why = Object.entries(lostRecords).map(([reason, records]) => `${reason} ${records}`);
  const { delayMsP50, delayMsP99, delayMsMax } = eventLoop;
  const cpu = figures.mainCpuMicrosPerRun;
  return [
    row("recorded", whole(recorded)),
    row("acknowledged", whole(acknowledged)),
    row("pending", whole(pending)),
    row("dropped", `${whole(dropped)}${why.length === 0 ? "" : ` (records: ${why.join(", ")})`}`),
    row("runs/s", whole(figures.runsPerSecond)),
    row("MB/s", figures.megabytesPerSecond.toFixed(1)),
    row("main CPU", cpu === undefined ? "not known here" : `${cpu.toFixed(1)} µs a run`),
    row(
      "loop delay",
      `${ms(delayMsP50)} / ${ms(delayMsP99)} / ${ms(delayMsMax)} ms (p50 / p99 / max)`,
    ),
    row("RSS", `${whole(figures.rssMb)} MB, peak ${whole(figures.peakRssMb)} MB`),
  ];
}

const labelLength = 14;
const row = (label: string, value: string): string => `${label.padEnd(labelLength)}${value}`;

const lineOf = ({ recorded, acknowledged, pending, dropped, ...rest }: Figures): string =>
  [
    `${whole(recorded)} recorded`,
    `${whole(acknowledged)} acknowledged`,
    `${whole(pending)} pending`,
    `${whole(dropped)} dropped`,
    `${whole(rest.runsPerSecond)} runs/s`,
    `${rest.megabytesPerSecond.toFixed(1)} MB/s`,
    `loop p99 ${ms(rest.eventLoop.delayMsP99)} ms`,
    `${whole(rest.rssMb)} MB`,
  ].join(", ");

const whole = (value: number): string => Math.round(value).toLocaleString("en");
const ms = (value: number): string => value.toFixed(1);
