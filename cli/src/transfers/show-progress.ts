import { basename } from "node:path";
import type { UploadProgress } from "millrace";

/** The properties of standard error that the progress display uses. */
export interface Screen {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

export interface ProgressDisplay {
  readonly update: (progress: UploadProgress) => void;
  /** Reports that the server does not respond and that the upload is waiting for it. */
  readonly showWaiting: (reason: Error) => void;
  /** Removes the progress bar, so that other lines can be written. */
  readonly stop: () => void;
}

/** Interval between two progress lines if the output is not a terminal, in milliseconds. */
const lineIntervalMs = 5_000;
const barLength = 20;
const minBarLength = 5;
const minNameLength = 8;

/** Shows a progress bar that fits the width of a terminal; without a terminal, a plain line every five seconds. */
export function showProgress(
  screen: Screen,
  name: string,
  getFractionRead: () => number | undefined,
): ProgressDisplay {
  const progressMeter = new ProgressMeter();
  const showWaiting = (reason: Error): void => {
    const text = reason.message.replace(/^Failed to [^:]*: /, "");
    screen.write(`${screen.isTTY === true ? "\r\u001b[K" : ""}waiting for the server: ${text}\n`);
  };
  let lastShownAt = performance.now();
  if (screen.isTTY !== true) {
    const update = (progress: UploadProgress): void => {
      const text = progressMeter.describe(progress, getFractionRead());
      if (performance.now() - lastShownAt >= lineIntervalMs) {
        lastShownAt = performance.now();
        screen.write(`${name}: ${text}\n`);
      }
    };
    return { update, showWaiting, stop: () => undefined };
  }
  return {
    update: (progress) => {
      const fractionRead = getFractionRead();
      const text = progressMeter.describe(progress, fractionRead);
      // Leave the last column empty, because some terminals wrap the line when it is written.
      screen.write(
        `\r${fitLine({ name, fractionRead, text }, (screen.columns ?? 80) - 1)}\u001b[K`,
      );
    },
    showWaiting,
    stop: () => screen.write("\r\u001b[K"),
  };
}

interface LineParts {
  readonly name: string;
  readonly fractionRead: number | undefined;
  readonly text: string;
}

/**
 * Formats name, bar and figures as one line. If they don't fit, the bar is omitted first, then the name is
 * shortened or omitted, and finally the figures are shortened.
 */
export function fitLine({ name, fractionRead, text }: LineParts, width: number): string {
  const fileName = basename(name);
  const barSpace = width - text.length - fileName.length - " [] ".length;
  if (fractionRead !== undefined && barSpace >= minBarLength) {
    return `${fileName} ${formatBar(fractionRead, Math.min(barLength, barSpace))} ${text}`;
  }
  const maxNameLength = width - text.length - 1;
  if (maxNameLength >= Math.min(minNameLength, fileName.length)) {
    const shortName =
      fileName.length > maxNameLength ? `${fileName.slice(0, maxNameLength - 1)}…` : fileName;
    return `${shortName} ${text}`;
  }
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

const formatBar = (fractionRead: number, length: number): string => {
  const filledLength = Math.round(fractionRead * length);
  return `[${"=".repeat(filledLength)}${" ".repeat(length - filledLength)}]`;
};

/**
 * Computes the rate and the remaining time of an upload. Rows that an earlier upload finished are skipped quickly, so
 * they are not counted: they would make the rate too high and the remaining time too short.
 */
export class ProgressMeter {
  /** Time and progress at which this upload reached the first row that no earlier upload finished. */
  #start: { readonly seconds: number; readonly fractionDone: number } | undefined;

  /** Formats the progress, such as `42%, 1,234 rows, 987 rows/s, 1:05 left`. */
  describe(progress: UploadProgress, fractionRead: number | undefined): string {
    const { read, rejected, seconds, firstRow } = progress;
    if (read < firstRow && firstRow > 1) {
      return `skipping ${(firstRow - 1).toLocaleString("en")} rows that were uploaded before`;
    }
    this.#start ??=
      firstRow === 1
        ? { seconds: 0, fractionDone: 0 }
        : { seconds, fractionDone: fractionRead ?? 0 };
    const elapsedSeconds = seconds - this.#start.seconds;
    const rate = elapsedSeconds > 0 ? (read - (firstRow - 1)) / elapsedSeconds : 0;
    const fractionReadSinceStart = (fractionRead ?? 0) - this.#start.fractionDone;
    const remainingSeconds =
      fractionRead === undefined || fractionReadSinceStart <= 0
        ? undefined
        : (elapsedSeconds / fractionReadSinceStart) * (1 - fractionRead);
    return [
      ...(fractionRead === undefined ? [] : [`${Math.floor(fractionRead * 100)}%`]),
      `${read.toLocaleString("en")} rows`,
      `${Math.round(rate).toLocaleString("en")} rows/s`,
      ...(rejected === 0 ? [] : [`${rejected.toLocaleString("en")} rejected`]),
      ...(remainingSeconds === undefined ? [] : [`${formatDuration(remainingSeconds)} left`]),
    ].join(", ");
  }
}

const padToTwoDigits = (value: number): string => String(value).padStart(2, "0");

function formatDuration(seconds: number): string {
  const wholeSeconds = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(wholeSeconds / 3_600), Math.floor(wholeSeconds / 60) % 60];
  return hours === 0
    ? `${minutes}:${padToTwoDigits(wholeSeconds % 60)}`
    : `${hours}:${padToTwoDigits(minutes)}:${padToTwoDigits(wholeSeconds % 60)}`;
}
