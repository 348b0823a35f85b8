import type { Screen } from "../transfers/show-progress.ts";
import type { LoadFigures } from "./meter.ts";
import type { LoadPlan } from "./record-load.ts";
import { sizes } from "./workload.ts";

/** Interval at which the measurements on a terminal are updated. */
const redrawIntervalMs = 250;
/** Interval between two lines of measurements if the output is not a terminal. */
const lineIntervalMs = 5_000;

/**
 * Shows the measurements while a load is recorded. On a terminal they are updated in place; any other output gets
 * one line every five seconds.
 */
export function showFigures(
  screen: Screen,
  readFigures: () => LoadFigures,
): { readonly stop: () => void } {
  if (screen.isTTY !== true) {
    const timer = setInterval(
      () => screen.write(`${formatLine(readFigures())}\n`),
      lineIntervalMs,
    ).unref();
    return { stop: () => clearInterval(timer) };
  }
  let drawnLineCount = 0;
  const clear = (): void => {
    if (drawnLineCount > 0) {
      screen.write(`\u001b[${drawnLineCount}A\u001b[J`);
    }
  };
  const draw = (): void => {
    const lines = formatLines(readFigures());
    clear();
    drawnLineCount = lines.length;
    screen.write(lines.map((line) => `${line.slice(0, (screen.columns ?? 80) - 1)}\n`).join(""));
  };
  const timer = setInterval(draw, redrawIntervalMs).unref();
  return {
    stop: () => {
      clearInterval(timer);
      clear();
    },
  };
}

/** Formats the final measurements as text. */
export function formatReport(figures: LoadFigures, { size, rate, workerCount }: LoadPlan): string {
  const paceText =
    rate === undefined ? "as fast as the server accepted them" : `${formatCount(rate)} per second`;
  const workersText = workerCount === undefined ? "" : `, workers: ${workerCount}`;
  const kilobytes = sizes[size].runBytes / 1_000;
  const summary = `${formatCount(figures.recorded)} runs of size ${size} (${kilobytes} kB of JSON each), ${paceText}${workersText}; ${figures.seconds.toFixed(1)} s`;
  return [summary, ...formatLines(figures)].map((line) => `${line}\n`).join("");
}

function formatLines(figures: LoadFigures): readonly string[] {
  const { recorded, acknowledged, pending, dropped, lostRecords, eventLoop } = figures;
  const reasons = Object.entries(lostRecords).map(([reason, records]) => `${reason} ${records}`);
  const { delayMsP50, delayMsP99, delayMsMax } = eventLoop;
  const cpuMicros = figures.mainCpuMicrosPerRun;
  return [
    formatRow("recorded", formatCount(recorded)),
    formatRow("acknowledged", formatCount(acknowledged)),
    formatRow("pending", formatCount(pending)),
    formatRow(
      "dropped",
      `${formatCount(dropped)}${reasons.length === 0 ? "" : ` (records: ${reasons.join(", ")})`}`,
    ),
    formatRow("runs/s", formatCount(figures.runsPerSecond)),
    formatRow("MB/s", figures.megabytesPerSecond.toFixed(1)),
    formatRow(
      "main CPU",
      cpuMicros === undefined ? "not available" : `${cpuMicros.toFixed(1)} µs per run`,
    ),
    formatRow(
      "loop delay",
      `${formatMs(delayMsP50)} / ${formatMs(delayMsP99)} / ${formatMs(delayMsMax)} ms (p50 / p99 / max)`,
    ),
    formatRow("RSS", `${formatCount(figures.rssMb)} MB, peak ${formatCount(figures.peakRssMb)} MB`),
  ];
}

const labelLength = 14;
const formatRow = (label: string, value: string): string => `${label.padEnd(labelLength)}${value}`;

const formatLine = (figures: LoadFigures): string =>
  [
    `${formatCount(figures.recorded)} recorded`,
    `${formatCount(figures.acknowledged)} acknowledged`,
    `${formatCount(figures.pending)} pending`,
    `${formatCount(figures.dropped)} dropped`,
    `${formatCount(figures.runsPerSecond)} runs/s`,
    `${figures.megabytesPerSecond.toFixed(1)} MB/s`,
    `loop p99 ${formatMs(figures.eventLoop.delayMsP99)} ms`,
    `${formatCount(figures.rssMb)} MB`,
  ].join(", ");

const formatCount = (value: number): string => Math.round(value).toLocaleString("en");
const formatMs = (value: number): string => value.toFixed(1);
