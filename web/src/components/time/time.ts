/**
 * Parses a time from the API. Returns milliseconds since the Unix epoch, with microseconds as a fraction; `undefined`
 * if the time is invalid.
 */
export function parseTimeMs(value: unknown): number | undefined {
  if (typeof value === "number") {
    return Number.isFinite(value) ? value : undefined;
  }
  if (typeof value !== "string") {
    return undefined;
  }
  const milliseconds = Date.parse(value);
  if (Number.isNaN(milliseconds)) {
    return undefined;
  }
  // `Date` has a resolution of milliseconds, but many runs start within the same millisecond.
  const micros = /\.\d{3}(\d{3})/.exec(value)?.[1];
  return micros === undefined ? milliseconds : milliseconds + Number(micros) / 1_000;
}

/** Formats a duration: `< 1 µs`, `740 µs`, `12.3 ms`, `4.56 s`, `2 m 05 s`, `3 h 07 m`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 0.001) {
    return "< 1 µs";
  }
  if (durationMs < 1) {
    return `${(durationMs * 1_000).toFixed(0)} µs`;
  }
  if (durationMs < 999.5) {
    return `${formatThreeDigits(durationMs)} ms`;
  }
  const seconds = durationMs / 1_000;
  if (seconds < 59.95) {
    return `${formatThreeDigits(seconds)} s`;
  }
  const wholeSeconds = Math.round(seconds);
  return wholeSeconds < 3_600
    ? `${Math.floor(wholeSeconds / 60)} m ${padToTwoDigits(wholeSeconds % 60)} s`
    : `${Math.floor(wholeSeconds / 3_600)} h ${padToTwoDigits(Math.floor((wholeSeconds % 3_600) / 60))} m`;
}

/** Formats a moment in the browser's time zone, to the millisecond: `2026-03-01 14:05:09.123`. */
export function formatTime(timeMs: number): string {
  const moment = new Date(timeMs);
  const date = [
    moment.getFullYear(),
    padToTwoDigits(moment.getMonth() + 1),
    padToTwoDigits(moment.getDate()),
  ].join("-");
  const time = [moment.getHours(), moment.getMinutes(), moment.getSeconds()]
    .map(padToTwoDigits)
    .join(":");
  return `${date} ${time}.${String(moment.getMilliseconds()).padStart(3, "0")}`;
}

/** Formats how long ago a moment was: `just now`, `40 s ago`, `5 min ago`, `3 h ago`, `12 d ago`. */
export function formatAge(ageMs: number): string {
  const seconds = Math.floor(ageMs / 1_000);
  if (seconds < 5) {
    return seconds < -60 ? "in the future" : "just now";
  }
  if (seconds < 60) {
    return `${seconds} s ago`;
  }
  if (seconds < 3_600) {
    return `${Math.floor(seconds / 60)} min ago`;
  }
  return seconds < 48 * 3_600
    ? `${Math.floor(seconds / 3_600)} h ago`
    : `${Math.floor(seconds / 86_400)} d ago`;
}

const padToTwoDigits = (count: number): string => String(count).padStart(2, "0");

function formatThreeDigits(value: number): string {
  if (value < 9.995) {
    return value.toFixed(2);
  }
  return value < 99.95 ? value.toFixed(1) : value.toFixed(0);
}
