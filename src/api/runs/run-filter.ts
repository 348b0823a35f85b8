import { omitUndefined } from "../../model/fields.ts";
import { validateId, validateIds } from "../../model/ids.ts";
import type { RunType } from "../../model/run.ts";
import { toIsoTime } from "../http/iso-time.ts";

/** Filters of runs. A run is selected if it matches all of them. */
export interface RunFilter {
  readonly projectIds?: readonly string[] | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly traceId?: string | undefined;
  readonly parentRunId?: string | undefined;
  readonly runType?: RunType | undefined;
  readonly referenceExampleIds?: readonly string[] | undefined;
  readonly isRoot?: boolean | undefined;
  /** Whether the run ended with an error. */
  readonly error?: boolean | undefined;
  /** Only runs that started at or after this time. */
  readonly startTime?: Date | string | undefined;
  /** Only runs that started at or before this time. */
  readonly endTime?: Date | string | undefined;
  /** Text to search for in the name and the payload. */
  readonly query?: string | undefined;
  /**
   * Condition that the run itself must match, in the filter language (docs/filter-language.md), if the server supports
   * it.
   */
  readonly filter?: string | undefined;
  /** Condition that the root run of the trace must match, in the filter language. */
  readonly traceFilter?: string | undefined;
  /** Condition that at least one run of the trace must match, in the filter language. */
  readonly treeFilter?: string | undefined;
}

/**
 * Converts the filters to their wire form.
 *
 * @throws {@link ValidationError} if an id is not a UUID, or a time is malformed.
 */
export function toWireFilter(filter: RunFilter): Readonly<Record<string, unknown>> {
  return omitUndefined({
    session: validateIds(filter.projectIds, "project id"),
    id: validateIds(filter.ids, "run id"),
    trace: validateId(filter.traceId, "trace id"),
    parent_run: validateId(filter.parentRunId, "parent run id"),
    run_type: filter.runType,
    reference_example: validateIds(filter.referenceExampleIds, "reference example id"),
    is_root: filter.isRoot,
    error: filter.error,
    start_time: toIsoTime(filter.startTime, "startTime"),
    end_time: toIsoTime(filter.endTime, "endTime"),
    query: filter.query,
    filter: filter.filter,
    trace_filter: filter.traceFilter,
    tree_filter: filter.treeFilter,
  });
}
