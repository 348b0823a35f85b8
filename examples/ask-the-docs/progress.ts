import { SingleBar } from "cli-progress";

/** Shows how far a phase is. */
export interface Progress {
  update(done: number): void;
  /** Ends it, with how far it came. */
  stop(done: number): void;
}

const lineEveryMs = 2_000;

/** What a line has room for where the terminal does not say. */
const defaultColumns = 80;
/** Characters beside title, bar and unit, with numbers of six digits and a time of six characters. */
const otherChars = 35;

/** Between 5 and 30 characters: the line, numbers and all, stays on one row of the terminal. */
export const barWidth = (title: string, unit: string, columns = defaultColumns): number =>
  Math.max(5, Math.min(30, columns - title.length - unit.length - otherChars));

/** A bar on a terminal; elsewhere a plain line every two seconds. */
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
  const say = (done: number): void =>
    console.log(`${title}: ${done} of ${Math.max(done, total)} ${unit}`);
  let last = performance.now();
  return {
    update: (done) => {
      if (performance.now() - last < lineEveryMs || done >= total) {
        return;
      }
      last = performance.now();
      say(done);
    },
    stop: say,
  };
};
