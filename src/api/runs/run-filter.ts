import { definedOf } from "../../model/fields.ts";
import { checkId, checkIds } from "../../model/ids.ts";
import type { RunType } from "../../model/run.ts";
import { toIsoTime } from "../http/iso-time.ts";

/** Which runs are meant: every filter that is given must hold. */
export interface RunFilter {
  readonly projectIds?: readonly string[] | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly traceId?: string | undefined;
  readonly parentRunId?: string | undefined;
  readonly runType?: RunType | undefined;
  readonly referenceExampleIds?: readonly string[] | undefined;
  readonly isRoot?: boolean | undefined;
  /** Whether it ended with an error. */
  readonly error?: boolean | undefined;
  /** Started at or after. */
  readonly startTime?: Date | string | undefined;
  /** Started at or before. */
  readonly endTime?: Date | string | undefined;
  /** A text in its name or payload. */
  readonly query?: string | undefined;
  /** In the filter language, where the server has it: on the run, on its root, on any run of its trace. */
  readonly filter?: string | undefined;
  readonly traceFilter?: string | undefined;
  readonly treeFilter?: string | undefined;
}

/**
 * The filters as the wire has them.
 *
 * @throws {@link ValidationError} an id is not a UUID, or a time is malformed.
 */
export function toWireFilter(filter: RunFilter): Readonly<Record<string, unknown>> {
  return definedOf({
    session: checkIds(filter.projectIds, "project id"),
    id: checkIds(filter.ids, "run id"),
    trace: checkId(filter.traceId, "trace id"),
    parent_run: checkId(filter.parentRunId, "parent run id"),
    run_type: filter.runType,
    reference_example: checkIds(filter.referenceExampleIds, "reference example id"),
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
