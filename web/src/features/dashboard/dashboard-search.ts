import { parseChoice, toSearchText } from "../../api/parse.ts";

/** The time ranges that the dashboard offers. Each range ends now. */
export const dashboardRanges = {
  "1h": { label: "1 h", ms: 3_600_000 },
  "6h": { label: "6 h", ms: 21_600_000 },
  "1d": { label: "24 h", ms: 86_400_000 },
  "7d": { label: "7 d", ms: 604_800_000 },
  "30d": { label: "30 d", ms: 2_592_000_000 },
  "90d": { label: "90 d", ms: 7_776_000_000 },
} as const;

export type DashboardRange = keyof typeof dashboardRanges;

export const rangeNames = Object.keys(dashboardRanges) as readonly DashboardRange[];

/** The properties by which runs can be grouped. */
export const groupings = ["model", "name", "tag", "user", "status"] as const;
export type Grouping = (typeof groupings)[number];

/** Which runs are counted. */
export const scopes = ["traces", "models", "all"] as const;
export type Scope = (typeof scopes)[number];

/** Search parameters in the URL of the dashboard. */
export interface DashboardSearch {
  /** A range that ends now. @defaultValue 1d. Absent in a custom range. */
  readonly last?: DashboardRange;
  /** Start and end of a custom range, ISO 8601. */
  readonly from?: string;
  readonly to?: string;
  readonly group?: Grouping;
  /** @defaultValue traces */
  readonly scope?: Scope;
  readonly filter?: string;
}

/** Parses the search parameters of a URL. Leaves out invalid values. */
export function parseDashboardSearch(search: Readonly<Record<string, unknown>>): DashboardSearch {
  const last = parseChoice(search["last"], rangeNames);
  const group = parseChoice(search["group"], groupings);
  const scope = parseChoice(search["scope"], scopes);
  const filter = toSearchText(search["filter"]);
  const [from, to] = [toTime(search["from"]), toTime(search["to"])];
  const isCustom = last === undefined && from !== undefined && to !== undefined && from < to;
  return {
    ...(last === undefined ? {} : { last }),
    ...(isCustom ? { from, to } : {}),
    ...(group === undefined ? {} : { group }),
    ...(scope === undefined ? {} : { scope }),
    ...(filter === undefined ? {} : { filter }),
  };
}

/** Returns a valid time in a form that can be compared as a text. */
function toTime(value: unknown): string | undefined {
  const timeMs = typeof value === "string" && value.length <= 40 ? Date.parse(value) : Number.NaN;
  return Number.isNaN(timeMs) ? undefined : new Date(timeMs).toISOString();
}

/** Converts the range of the URL to times. One that ends now is rounded, so that equal queries can be cached. */
export function toDashboardTimes(
  { last = "1d", from, to }: DashboardSearch,
  nowMs: number,
): { readonly from: string; readonly to: string } {
  if (from !== undefined && to !== undefined) {
    return { from, to };
  }
  const { ms } = dashboardRanges[last];
  const stepMs = 60_000;
  const endMs = Math.ceil(nowMs / stepMs) * stepMs;
  return { from: new Date(endMs - ms).toISOString(), to: new Date(endMs).toISOString() };
}
