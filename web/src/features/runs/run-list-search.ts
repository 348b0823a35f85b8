import { isId } from "../../api/parse.ts";
import { parseTimeSelection } from "../../components/time/time-range.ts";
import type { UrlTimes } from "../../components/time/time-range.ts";

/** The state of a project's run list, which is stored in the search parameters of the URL. */
export interface RunListSearch extends UrlTimes {
  /** A filter in the filter language. */
  readonly filter?: string;
  /** Present when all runs are listed. @defaultValue root runs only */
  readonly all?: true;
  /** @defaultValue by start, newest first */
  readonly sort?: ListSort;
  /** The id of the saved view that was opened. The other parameters may have been changed since. */
  readonly view?: string;
  /** Ids of the selected runs. */
  readonly selected?: readonly string[];
  /** Present when the two selected runs are compared. */
  readonly compare?: true;
}

export const listSorts = ["start-asc", "latency-desc", "latency-asc"] as const;
export type ListSort = (typeof listSorts)[number];

const maxFilterLength = 10_000;
/**
 * The maximum number of selected ids in the URL. More ids would make the URL too long, so a larger selection is only
 * kept in memory.
 */
export const maxUrlSelection = 100;

/** Parses the search parameters of the list from the URL. Invalid values are left out. */
export function parseListSearch(search: Readonly<Record<string, unknown>>): RunListSearch {
  const { filter, all, sort, view, selected, compare } = search;
  const ids = Array.isArray(selected) ? selected.filter(isId).slice(0, maxUrlSelection) : [];
  return {
    ...(typeof filter === "string" && filter.trim() !== "" && filter.length <= maxFilterLength
      ? { filter }
      : {}),
    ...(all === true ? { all } : {}),
    ...parseTimeSelection(search),
    ...(isSort(sort) ? { sort } : {}),
    ...(isId(view) ? { view } : {}),
    ...(ids.length > 0 ? { selected: ids } : {}),
    ...(compare === true && ids.length === 2 ? { compare } : {}),
  };
}

const isSort = (value: unknown): value is ListSort => listSorts.some((sort) => sort === value);

/** The parameters in the path of a project's URL. */
export interface ProjectAddress {
  readonly tenantId: string;
  readonly projectId: string;
}
