import { omitUndefined, requireItems, requireText, toRecord, toText } from "../../../api/parse.ts";
import { toPlainFilter } from "../../../components/filter/plain-filter.ts";
import { timePresets } from "../../../components/time/time-range.ts";
import { formatTime, parseTimeMs } from "../../../components/time/time.ts";
import { parseListSearch } from "../run-list-search.ts";
import type { ListSort, RunListSearch } from "../run-list-search.ts";

/** The state of a run list except its filter: whether it lists all runs, their time range and their order. */
export type ListState = Pick<RunListSearch, "all" | "sort" | "last" | "from" | "to">;

/** A saved filter of a project's runs. Conditions are in the filter language; an absent condition matches every run. */
export interface View {
  readonly id: string;
  readonly name: string;
  /** Empty if the view has no description. */
  readonly description: string;
  /** Condition on the run itself. */
  readonly filter?: string;
  /** Condition on the root run of the trace. */
  readonly traceFilter?: string;
  /** Condition that any run of the trace must match. */
  readonly treeFilter?: string;
  /** Empty for a view that was not created in the UI. The run list then has its default state. */
  readonly list: ListState;
  readonly modifiedMs?: number;
}

/** @throws TypeError the value is not a view. */
export function parseView(value: unknown): View {
  const members = toRecord(value);
  return {
    id: requireText(members, "id"),
    name: requireText(members, "display_name"),
    description: toText(members["description"]) ?? "",
    list: parseListQuery(toText(members["list_query"]) ?? ""),
    ...omitUndefined({
      filter: toText(members["filter_string"]),
      traceFilter: toText(members["trace_filter_string"]),
      treeFilter: toText(members["tree_filter_string"]),
      modifiedMs: parseTimeMs(members["updated_at"]),
    }),
  };
}

/** @throws TypeError the value is not a list of views. */
export const parseViews = (value: unknown): readonly View[] =>
  requireItems(value, "views").map(parseView);

/** Whether the run list can apply all conditions of a view. It can't apply conditions on other runs of the trace. */
export const canOpen = ({ traceFilter, treeFilter }: View): boolean =>
  traceFilter === undefined && treeFilter === undefined;

/** The search parameters with which the run list shows a view. */
export const toViewSearch = ({ id, list, filter }: View): RunListSearch => ({
  ...list,
  ...omitUndefined({ filter }),
  view: id,
});

/** Whether a list that was opened with a view still has the filter and the state of the view. */
export const showsView = (
  { filter = "", list }: View,
  { filter: shownFilter = "", ...shownList }: RunListSearch,
): boolean =>
  filter === shownFilter &&
  (["all", "sort", "last", "from", "to"] as const).every((name) => list[name] === shownList[name]);

/** Writes the state of a list as the query of a URL, in which the server stores it. */
export const toListQuery = ({ all, ...texts }: ListState): string =>
  new URLSearchParams({ ...omitUndefined(texts), ...(all && { all: "true" }) }).toString();

function parseListQuery(query: string): ListState {
  const { all, sort, last, from, to } = Object.fromEntries(new URLSearchParams(query));
  return parseListSearch({ sort, last, from, to, ...(all === "true" && { all: true }) });
}

const sortTexts: { readonly [Sort in ListSort]: string } = {
  "start-asc": "oldest first",
  "latency-desc": "slowest first",
  "latency-asc": "fastest first",
};

/** The state of a list as one line of text; empty for the default state. */
export const describeList = ({ all, sort, last, from, to }: ListState): string =>
  [
    all === undefined ? undefined : "all runs",
    last === undefined ? undefined : timePresets[last].label.toLowerCase(),
    from === undefined ? undefined : `from ${formatTime(Date.parse(from))}`,
    to === undefined ? undefined : `to ${formatTime(Date.parse(to))}`,
    sort === undefined ? undefined : sortTexts[sort],
  ]
    .filter((text) => text !== undefined)
    .join(", ");

/** The conditions of a view as one line of text. */
export const describeConditions = ({ filter, traceFilter, treeFilter }: View): string =>
  [
    filter === undefined ? undefined : toPlainFilter(filter),
    traceFilter === undefined ? undefined : `root run: ${toPlainFilter(traceFilter)}`,
    treeFilter === undefined ? undefined : `any run of the trace: ${toPlainFilter(treeFilter)}`,
  ]
    .filter((condition) => condition !== undefined)
    .join("; ");
