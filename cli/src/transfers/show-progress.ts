import { basename } from "node:path";
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
  /** Says that the server does not answer, and that the upload waits for it. */
  readonly wait: (reason: Error) => void;
  /** Takes the bar away, so that other lines can come. */
  readonly stop: () => void;
}

/** Between two lines, where there is no terminal. */
const lineEveryMs = 5_000;
const barLength = 20;
const leastBar = 5;
const leastName = 8;

/** A bar on a terminal, which fits its width; elsewhere a plain line every five seconds. */
export function showProgress(
  screen: Screen,
  name: string,
  fraction: () => number | undefined,
): Progress {
  const work = new WorkDone();
  const wait = (reason: Error): void => {
    const text = reason.message.replace(/^Failed to [^:]*: /, "");
    screen.write(`${screen.isTTY === true ? "\r\u001b[K" : ""}waiting for the server: ${text}\n`);
  };
  let shownAt = performance.now();
  if (screen.isTTY !== true) {
    const update = (progress: UploadProgress): void => {
      const text = work.describe(progress, fraction());
      if (performance.now() - shownAt >= lineEveryMs) {
        shownAt = performance.now();
        screen.write(`${name}: ${text}\n`);
      }
    };
    return { update, wait, stop: () => undefined };
  }
  return {
    update: (progress) => {
      const done = fraction();
      const text = work.describe(progress, done);
      // The last column stays free: some terminals wrap when it is written.
      screen.write(`\r${fitLine({ name, done, text }, (screen.columns ?? 80) - 1)}\u001b[K`);
    },
    wait,
    stop: () => screen.write("\r\u001b[K"),
  };
}

interface LineParts {
  readonly name: string;
  readonly done: number | undefined;
  readonly text: string;
}

/** Name, bar and figures in one line: the bar gives way first, then the name, and the figures last. */
export function fitLine({ name, done, text }: LineParts, width: number): string {
  const short = basename(name);
  const barRoom = width - text.length - short.length - " [] ".length;
  if (done !== undefined && barRoom >= leastBar) {
    return `${short} ${barOf(done, Math.min(barLength, barRoom))} ${text}`;
  }
  const nameRoom = width - text.length - 1;
  if (nameRoom >= Math.min(leastName, short.length)) {
    const cut = short.length > nameRoom ? `${short.slice(0, nameRoom - 1)}…` : short;
    return `${cut} ${text}`;
  }
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

const barOf = (done: number, length: number): string => {
  const full = Math.round(done * length);
  return `[${"=".repeat(full)}${" ".repeat(length - full)}]`;
};

/**
 * What this upload does itself. Rows that an earlier one finished are read again within moments: as part of
 * the rate they would make it, and the time that is left, wrong.
 */
export class WorkDone {
  /** Where the work began. */
  #from: { readonly seconds: number; readonly done: number } | undefined;

  /** `42%, 1,234 rows, 987 rows/s, 1:05 left`. */
  describe(progress: UploadProgress, done: number | undefined): string {
    const { read, rejected, seconds, firstRow } = progress;
    if (read < firstRow && firstRow > 1) {
      return `skipping ${(firstRow - 1).toLocaleString("en")} rows that are done`;
    }
    this.#from ??= firstRow === 1 ? { seconds: 0, done: 0 } : { seconds, done: done ?? 0 };
    const spent = seconds - this.#from.seconds;
    const rate = spent > 0 ? (read - (firstRow - 1)) / spent : 0;
    const worked = (done ?? 0) - this.#from.done;
    const left = done === undefined || worked <= 0 ? undefined : (spent / worked) * (1 - done);
    return [
      ...(done === undefined ? [] : [`${Math.floor(done * 100)}%`]),
      `${read.toLocaleString("en")} rows`,
      `${Math.round(rate).toLocaleString("en")} rows/s`,
      ...(rejected === 0 ? [] : [`${rejected.toLocaleString("en")} rejected`]),
      ...(left === undefined ? [] : [`${clock(left)} left`]),
    ].join(", ");
  }
}

const two = (value: number): string => String(value).padStart(2, "0");

function clock(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60];
  return hours === 0
    ? `${minutes}:${two(whole % 60)}`
    : `${hours}:${two(minutes)}:${two(whole % 60)}`;
}
