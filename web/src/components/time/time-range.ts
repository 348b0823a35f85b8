/** The predefined time ranges, which end now. */
export const timePresets = {
  "1h": { label: "Last hour", ms: 3_600_000 },
  "6h": { label: "Last 6 hours", ms: 21_600_000 },
  "1d": { label: "Last 24 hours", ms: 86_400_000 },
  "7d": { label: "Last 7 days", ms: 604_800_000 },
  "30d": { label: "Last 30 days", ms: 2_592_000_000 },
  "90d": { label: "Last 90 days", ms: 7_776_000_000 },
} as const;

export type TimePreset = keyof typeof timePresets;

export const isPreset = (value: unknown): value is TimePreset =>
  typeof value === "string" && Object.hasOwn(timePresets, value);

/**
 * The time range as stored in the URL: either `last`, or a custom range, which is unlimited on the side that is absent.
 * Every page with a time range has these parameters, so that a link can carry the range from one page to another.
 */
export interface TimeSelection {
  readonly last?: TimePreset | undefined;
  /** Start and end of a custom range, ISO 8601. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** A {@link TimeSelection} in the state of a page: members without a value are absent, not `undefined`. */
export interface UrlTimes extends TimeSelection {
  readonly last?: TimePreset;
  readonly from?: string;
  readonly to?: string;
}

/** Parses the time range in the query of a URL. Leaves out invalid values. */
export function parseTimeSelection(search: Readonly<Record<string, unknown>>): UrlTimes {
  const { last, from, to } = search;
  return isPreset(last)
    ? { last }
    : { ...(isTime(from) ? { from } : {}), ...(isTime(to) ? { to } : {}) };
}

/** Picks the time range from the state of a page, for a link to another page. */
export const pickTimes = ({ last, from, to }: TimeSelection): UrlTimes =>
  last === undefined
    ? { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
    : { last };

/** The maximum length of a text that is parsed as a time, in characters. */
const maxTimeChars = 40;

const isTime = (value: unknown): value is string =>
  typeof value === "string" && value.length <= maxTimeChars && !Number.isNaN(Date.parse(value));

/** A time range, in milliseconds since the Unix epoch. Without `fromMs` or `toMs`, it is unlimited on that side. */
export interface TimeRange {
  readonly fromMs?: number;
  readonly toMs?: number;
}

/**
 * Start and end of a range that ends now, in milliseconds since the Unix epoch. The end is rounded up to a minute, so
 * that pages show the same runs, and queries repeated within the same minute are equal and can be cached.
 */
export function toPresetTimes(
  preset: TimePreset,
  nowMs: number,
): { readonly fromMs: number; readonly toMs: number } {
  const stepMs = 60_000;
  const toMs = Math.ceil(nowMs / stepMs) * stepMs;
  return { fromMs: toMs - timePresets[preset].ms, toMs };
}

/** Converts a time range of the URL to times. A range that ends now has no end, so that it includes new runs. */
export function toTimeRange({ last, from, to }: TimeSelection, nowMs: number): TimeRange {
  if (last !== undefined) {
    return { fromMs: toPresetTimes(last, nowMs).fromMs };
  }
  return {
    ...(from === undefined ? {} : { fromMs: Date.parse(from) }),
    ...(to === undefined ? {} : { toMs: Date.parse(to) }),
  };
}

/** Formats two moments, in either order, as a time range for the URL, rounded outwards to whole seconds. */
export function toUrlRange(a: number, b: number): { readonly from: string; readonly to: string } {
  const [from, to] = [Math.min(a, b), Math.max(a, b)];
  return {
    from: new Date(Math.floor(from / 1_000) * 1_000).toISOString(),
    to: new Date(Math.ceil(to / 1_000) * 1_000).toISOString(),
  };
}

/** Formats a time for an `<input type="datetime-local">`, in the browser's time zone. */
export function toDateTimeInputValue(iso: string | undefined): string {
  if (iso === undefined) {
    return "";
  }
  const date = new Date(iso);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
