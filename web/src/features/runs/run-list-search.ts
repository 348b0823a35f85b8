import { isId } from "../../api/parse.ts";
import { isPreset } from "./time-range.ts";
import type { TimePreset } from "./time-range.ts";

/** The state of a project's run list, as stored in the URL's query. */
export interface RunListSearch {
  /** A filter in the filter language. */
  readonly filter?: string;
  /** Present when all runs are listed. @defaultValue root runs only */
  readonly all?: true;
  /** A time range that ends now. If it is present, `from` and `to` are left out. */
  readonly last?: TimePreset;
  /** Start and end of a fixed time range, ISO 8601. */
  readonly from?: string;
  readonly to?: string;
  /** @defaultValue by start, newest first */
  readonly sort?: ListSort;
  /** Ids of the selected runs. */
  readonly selected?: readonly string[];
  /** Present when the two selected runs are compared. */
  readonly compare?: true;
}

export const listSorts = ["start-asc", "latency-desc", "latency-asc"] as const;
export type ListSort = (typeof listSorts)[number];

const maxFilterLength = 10_000;
/** The maximum number of selected ids in the URL, which more ids would make too long. A larger selection is only in memory. */
export const maxUrlSelection = 100;

/** Parses the list's part of the URL's query. Invalid values are left out. */
export function parseListSearch(search: Readonly<Record<string, unknown>>): RunListSearch {
  const { filter, all, last, from, to, sort, selected, compare } = search;
  const ids = Array.isArray(selected) ? selected.filter(isId).slice(0, maxUrlSelection) : [];
  const isCustomRange = !isPreset(last);
  return {
    ...(typeof filter === "string" && filter.trim() !== "" && filter.length <= maxFilterLength
      ? { filter }
      : {}),
    ...(all === true ? { all } : {}),
    ...(isPreset(last) ? { last } : {}),
    ...(isCustomRange && isTime(from) ? { from } : {}),
    ...(isCustomRange && isTime(to) ? { to } : {}),
    ...(isSort(sort) ? { sort } : {}),
    ...(ids.length > 0 ? { selected: ids } : {}),
    ...(compare === true && ids.length === 2 ? { compare } : {}),
  };
}

const isSort = (value: unknown): value is ListSort => listSorts.some((sort) => sort === value);

const isTime = (value: unknown): value is string =>
  typeof value === "string" && value.length <= 40 && !Number.isNaN(Date.parse(value));

/** The parameters in the path of a project's URL. */
export interface ProjectAddress {
  readonly tenantId: string;
  readonly projectId: string;
}
