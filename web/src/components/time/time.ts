/** Milliseconds since the epoch, with microsecond fraction, of a time on the wire. */
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
  // `Date` stops at milliseconds; runs within one are common.
  const micros = /\.\d{3}(\d{3})/.exec(value)?.[1];
  return micros === undefined ? milliseconds : milliseconds + Number(micros) / 1_000;
}

/** A span of time for a person: `< 1 µs`, `740 µs`, `12.3 ms`, `4.56 s`, `2 m 05 s`, `3 h 07 m`. */
export function formatDuration(spanMs: number): string {
  if (spanMs < 0.001) {
    return "< 1 µs";
  }
  if (spanMs < 1) {
    return `${(spanMs * 1_000).toFixed(0)} µs`;
  }
  if (spanMs < 999.5) {
    return `${toThreeDigits(spanMs)} ms`;
  }
  const seconds = spanMs / 1_000;
  if (seconds < 59.95) {
    return `${toThreeDigits(seconds)} s`;
  }
  const whole = Math.round(seconds);
  return whole < 3_600
    ? `${Math.floor(whole / 60)} m ${twoDigits(whole % 60)} s`
    : `${Math.floor(whole / 3_600)} h ${twoDigits(Math.floor((whole % 3_600) / 60))} m`;
}

/** A moment in the zone of the person who reads, to the millisecond: `2026-03-01 14:05:09.123`. */
export function formatTime(timeMs: number): string {
  const at = new Date(timeMs);
  const date = [at.getFullYear(), twoDigits(at.getMonth() + 1), twoDigits(at.getDate())].join("-");
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":");
  return `${date} ${time}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

/** How long ago a moment was: `just now`, `40 s ago`, `5 min ago`, `3 h ago`, `12 d ago`. */
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

const twoDigits = (count: number): string => String(count).padStart(2, "0");

function toThreeDigits(value: number): string {
  if (value < 9.995) {
    return value.toFixed(2);
  }
  return value < 99.95 ? value.toFixed(1) : value.toFixed(0);
}
