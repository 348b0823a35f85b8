/** The predefined time ranges, which end now. */
export const timePresets = {
  "15m": { label: "Last 15 minutes", ms: 900_000 },
  "1h": { label: "Last hour", ms: 3_600_000 },
  "6h": { label: "Last 6 hours", ms: 21_600_000 },
  "1d": { label: "Last 24 hours", ms: 86_400_000 },
  "7d": { label: "Last 7 days", ms: 604_800_000 },
  "30d": { label: "Last 30 days", ms: 2_592_000_000 },
} as const;

export type TimePreset = keyof typeof timePresets;

export const isPreset = (value: unknown): value is TimePreset =>
  typeof value === "string" && Object.hasOwn(timePresets, value);

/** The time range as stored in the URL: either `last`, or `from` and `to`. */
export interface TimeSelection {
  readonly last?: TimePreset | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** A time range, in milliseconds since the Unix epoch. Without `fromMs` or `toMs`, it is unlimited on that side. */
export interface TimeRange {
  readonly fromMs?: number;
  readonly toMs?: number;
}

/**
 * Converts the time range of the URL. The start of a range that ends now is rounded down to a multiple of a sixtieth
 * of the range's length, so that a query repeated a moment later is equal to the first and can be cached.
 */
export function toTimeRange({ last, from, to }: TimeSelection, nowMs: number): TimeRange {
  if (last !== undefined) {
    const { ms } = timePresets[last];
    const stepMs = ms / 60;
    return { fromMs: Math.floor((nowMs - ms) / stepMs) * stepMs };
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
