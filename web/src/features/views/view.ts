import { omitUndefined, requireItems, requireText, toRecord, toText } from "../../api/parse.ts";
import { toPlainFilter } from "../../components/filter/plain-filter.ts";
import { parseTimeMs } from "../../components/time/time.ts";

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
  readonly modifiedMs?: number;
}

/** @throws TypeError the value is not a list of views. */
export const parseViews = (value: unknown): readonly View[] =>
  requireItems(value, "views").map((item) => {
    const members = toRecord(item);
    return {
      id: requireText(members, "id"),
      name: requireText(members, "display_name"),
      description: toText(members["description"]) ?? "",
      ...omitUndefined({
        filter: toText(members["filter_string"]),
        traceFilter: toText(members["trace_filter_string"]),
        treeFilter: toText(members["tree_filter_string"]),
        modifiedMs: parseTimeMs(members["updated_at"]),
      }),
    };
  });

/** Whether the run list can apply all conditions of a view. It can't apply conditions on other runs of the trace. */
export const canOpen = ({ traceFilter, treeFilter }: View): boolean =>
  traceFilter === undefined && treeFilter === undefined;

/** The conditions of a view as one line of text. */
export const describeConditions = ({ filter, traceFilter, treeFilter }: View): string =>
  [
    filter === undefined ? undefined : toPlainFilter(filter),
    traceFilter === undefined ? undefined : `root run: ${toPlainFilter(traceFilter)}`,
    treeFilter === undefined ? undefined : `any run of the trace: ${toPlainFilter(treeFilter)}`,
  ]
    .filter((condition) => condition !== undefined)
    .join("; ");
