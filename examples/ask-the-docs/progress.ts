import { SingleBar } from "cli-progress";

/** Shows the progress of a phase. */
export interface Progress {
  update(done: number): void;
  /** Ends the display with the final count. */
  stop(done: number): void;
}

const lineIntervalMs = 2_000;

/** Width of a line if the terminal's width is unknown. */
const defaultColumns = 80;
/** Characters in a line besides title, bar and unit, for numbers of six digits and a time of six characters. */
const otherChars = 35;

/** Width of the bar, 5 to 30 characters, so that the whole line fits on one row of the terminal. */
export const barWidth = (title: string, unit: string, columns = defaultColumns): number =>
  Math.max(5, Math.min(30, columns - title.length - unit.length - otherChars));

/** Shows a bar on a terminal, and otherwise prints a line every two seconds. */
export const startProgress = (title: string, total: number, unit: string): Progress => {
  if (!process.stdout.isTTY) {
    return startLines(title, total, unit);
  }
  const bar = new SingleBar({
    format: `${title} [{bar}] {percentage}%  {value}/{total} ${unit}  {duration_formatted}`,
    stream: process.stdout,
    barsize: barWidth(title, unit, process.stdout.columns),
    hideCursor: true,
  });
  bar.start(total, 0);
  return {
    update: (done) => bar.update(Math.min(done, total)),
    stop: (done) => {
      bar.setTotal(done);
      bar.update(done);
      bar.stop();
    },
  };
};

const startLines = (title: string, total: number, unit: string): Progress => {
  const print = (done: number): void =>
    console.log(`${title}: ${done} of ${Math.max(done, total)} ${unit}`);
  let lastPrintedAt = performance.now();
  return {
    update: (done) => {
      if (performance.now() - lastPrintedAt < lineIntervalMs || done >= total) {
        return;
      }
      lastPrintedAt = performance.now();
      print(done);
    },
    stop: print,
  };
};
