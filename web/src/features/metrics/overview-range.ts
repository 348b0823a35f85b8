/** The time ranges of the overview. Each range ends now. */
export const overviewRanges = {
  "1h": "1 h",
  "1d": "24 h",
  "7d": "7 d",
  "30d": "30 d",
  "90d": "90 d",
} as const;

export type OverviewRange = keyof typeof overviewRanges;

export const isOverviewRange = (value: unknown): value is OverviewRange =>
  typeof value === "string" && Object.hasOwn(overviewRanges, value);
