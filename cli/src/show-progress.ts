import type { UploadProgress } from "millrace";

/** Where progress is shown: standard error. */
export interface Screen {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** Shows how far an upload is. */
export interface Progress {
  readonly update: (progress: UploadProgress) => void;
  /** Takes the bar away, so that other lines can come. */
  readonly stop: () => void;
}

/** Between two lines, where there is no terminal. */
const lineEveryMs = 5_000;
const barLength = 24;

/** A bar on a terminal; elsewhere a plain line every five seconds. */
export function showProgress(
  screen: Screen,
  name: string,
  fraction: () => number | undefined,
): Progress {
  let shownAt = performance.now();
  if (screen.isTTY !== true) {
    const update = (progress: UploadProgress): void => {
      if (performance.now() - shownAt >= lineEveryMs) {
        shownAt = performance.now();
        screen.write(`${name}: ${progressText(progress, fraction())}\n`);
      }
    };
    return { update, stop: () => undefined };
  }
  return {
    update: (progress) => {
      const done = fraction();
      const bar = done === undefined ? "" : `${barOf(done)} `;
      const line = `${name} ${bar}${progressText(progress, done)}`;
      screen.write(`\r${line.slice(0, (screen.columns ?? 80) - 1)}\u001b[K`);
    },
    stop: () => screen.write("\r\u001b[K"),
  };
}

const barOf = (done: number): string => {
  const full = Math.round(done * barLength);
  return `[${"=".repeat(full)}${" ".repeat(barLength - full)}]`;
};

/** `42%, 1,234 rows, 987 rows/s, 1:05 left`. */
export function progressText(
  { read, rejected, seconds }: UploadProgress,
  done: number | undefined,
): string {
  const rate = seconds > 0 ? read / seconds : 0;
  const left = done === undefined || done === 0 ? undefined : (seconds / done) * (1 - done);
  return [
    ...(done === undefined ? [] : [`${Math.floor(done * 100)}%`]),
    `${read.toLocaleString("en")} rows`,
    `${Math.round(rate).toLocaleString("en")} rows/s`,
    ...(rejected === 0 ? [] : [`${rejected.toLocaleString("en")} rejected`]),
    ...(left === undefined ? [] : [`${clock(left)} left`]),
  ].join(", ");
}

const two = (value: number): string => String(value).padStart(2, "0");

function clock(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60];
  return hours === 0
    ? `${minutes}:${two(whole % 60)}`
    : `${hours}:${two(minutes)}:${two(whole % 60)}`;
}
