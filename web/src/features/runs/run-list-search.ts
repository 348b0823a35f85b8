import { isId } from "../../api/parse.ts";
import { isPreset } from "./time-range.ts";
import type { TimePreset } from "./time-range.ts";

/** What the address of a project's list shows. */
export interface RunListSearch {
  /** In the filter language. */
  readonly filter?: string;
  /** Whether all runs are listed. @defaultValue roots alone */
  readonly all?: true;
  /** Runs of the last so long; or between two times, ISO 8601. */
  readonly last?: TimePreset;
  readonly from?: string;
  readonly to?: string;
  /** @defaultValue the newest first */
  readonly sort?: ListSort;
  /** Ids of the runs that are selected. */
  readonly selected?: readonly string[];
  /** Whether the two that are selected are compared. */
  readonly compare?: true;
}

export const listSorts = ["start-asc", "latency-desc", "latency-asc"] as const;
export type ListSort = (typeof listSorts)[number];

const filterMax = 10_000;
/** More ids than these make an address too long; they stay with the page. */
export const selectedMax = 100;

/** Reads the part of an address that is about the list; what makes no sense is left out. */
export function parseListSearch(search: Readonly<Record<string, unknown>>): RunListSearch {
  const { filter, all, last, from, to, sort, selected, compare } = search;
  const ids = Array.isArray(selected) ? selected.filter(isId).slice(0, selectedMax) : [];
  const isAbsolute = !isPreset(last);
  return {
    ...(typeof filter === "string" && filter.trim() !== "" && filter.length <= filterMax
      ? { filter }
      : {}),
    ...(all === true ? { all } : {}),
    ...(isPreset(last) ? { last } : {}),
    ...(isAbsolute && isTime(from) ? { from } : {}),
    ...(isAbsolute && isTime(to) ? { to } : {}),
    ...(isSort(sort) ? { sort } : {}),
    ...(ids.length > 0 ? { selected: ids } : {}),
    ...(compare === true && ids.length === 2 ? { compare } : {}),
  };
}

const isSort = (value: unknown): value is ListSort => listSorts.some((sort) => sort === value);

const isTime = (value: unknown): value is string =>
  typeof value === "string" && value.length <= 40 && !Number.isNaN(Date.parse(value));

/** The state of the project page in the address. */
export interface ProjectAddress {
  readonly tenantId: string;
  readonly projectId: string;
}
