import type { Screen } from "../transfers/show-progress.ts";
import type { Figures } from "./meter.ts";
import type { LoadPlan } from "./record-load.ts";
import { sizes } from "./workload.ts";

/** Interval between two updates, in milliseconds: on a terminal, and elsewhere. */
const redrawMs = 250;
const lineIntervalMs = 5_000;

/**
 * Shows the measurements while a load is recorded: updated in place on a terminal, elsewhere as a line every
 * five seconds.
 */
export function showFigures(screen: Screen, figures: () => Figures): { readonly stop: () => void } {
  if (screen.isTTY !== true) {
    const timer = setInterval(
      () => screen.write(`${formatLine(figures())}\n`),
      lineIntervalMs,
    ).unref();
    return { stop: () => clearInterval(timer) };
  }
  let height = 0;
  const clear = (): void => {
    if (height > 0) {
      screen.write(`\u001b[${height}A\u001b[J`);
    }
  };
  const draw = (): void => {
    const lines = formatLines(figures());
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

/** Formats the final report for people. */
export function formatReport(figures: Figures, { size, rate, workers }: LoadPlan): string {
  const pace =
    rate === undefined ? "as fast as the server accepted them" : `${formatCount(rate)} per second`;
  const threads = workers === undefined ? "" : `, workers: ${workers}`;
  const kilobytes = sizes[size].runBytes / 1_000;
  const head = `${formatCount(figures.recorded)} runs of size ${size} (${kilobytes} kB of JSON each), ${pace}${threads}; ${figures.seconds.toFixed(1)} s`;
  return [head, ...formatLines(figures)].map((line) => `${line}\n`).join("");
}

function formatLines(figures: Figures): readonly string[] {
  const { recorded, acknowledged, pending, dropped, lostRecords, eventLoop } = figures;
  const reasons = Object.entries(lostRecords).map(([reason, records]) => `${reason} ${records}`);
  const { delayMsP50, delayMsP99, delayMsMax } = eventLoop;
  const cpu = figures.mainCpuMicrosPerRun;
  return [
    row("recorded", formatCount(recorded)),
    row("acknowledged", formatCount(acknowledged)),
    row("pending", formatCount(pending)),
    row(
      "dropped",
      `${formatCount(dropped)}${reasons.length === 0 ? "" : ` (records: ${reasons.join(", ")})`}`,
    ),
    row("runs/s", formatCount(figures.runsPerSecond)),
    row("MB/s", figures.megabytesPerSecond.toFixed(1)),
    row("main CPU", cpu === undefined ? "not available" : `${cpu.toFixed(1)} µs per run`),
    row(
      "loop delay",
      `${formatMs(delayMsP50)} / ${formatMs(delayMsP99)} / ${formatMs(delayMsMax)} ms (p50 / p99 / max)`,
    ),
    row("RSS", `${formatCount(figures.rssMb)} MB, peak ${formatCount(figures.peakRssMb)} MB`),
  ];
}

const labelLength = 14;
const row = (label: string, value: string): string => `${label.padEnd(labelLength)}${value}`;

const formatLine = ({ recorded, acknowledged, pending, dropped, ...rest }: Figures): string =>
  [
    `${formatCount(recorded)} recorded`,
    `${formatCount(acknowledged)} acknowledged`,
    `${formatCount(pending)} pending`,
    `${formatCount(dropped)} dropped`,
    `${formatCount(rest.runsPerSecond)} runs/s`,
    `${rest.megabytesPerSecond.toFixed(1)} MB/s`,
    `loop p99 ${formatMs(rest.eventLoop.delayMsP99)} ms`,
    `${formatCount(rest.rssMb)} MB`,
  ].join(", ");

const formatCount = (value: number): string => Math.round(value).toLocaleString("en");
const formatMs = (value: number): string => value.toFixed(1);
