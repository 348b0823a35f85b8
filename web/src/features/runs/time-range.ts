/** Stretches of time that end now. */
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

/** The time range in an address. */
export interface TimeSelection {
  readonly last?: TimePreset | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** Ends of a stretch of time, milliseconds; open where they are left out. */
export interface TimeRange {
  readonly fromMs?: number;
  readonly toMs?: number;
}

/**
 * The stretch of time that is meant. One that ends now begins at a whole step of it, so that asking again
 * a moment later is the same question.
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

/** What was brushed, for an address; the ends in their order, to the second. */
export function toBrushed(a: number, b: number): { readonly from: string; readonly to: string } {
  const [from, to] = [Math.min(a, b), Math.max(a, b)];
  return {
    from: new Date(Math.floor(from / 1_000) * 1_000).toISOString(),
    to: new Date(Math.ceil(to / 1_000) * 1_000).toISOString(),
  };
}

/** A moment as an input of the browser has it, in the reader's zone. */
export function toLocalInput(iso: string | undefined): string {
  if (iso === undefined) {
    return "";
  }
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
