import type { RunMeasures } from "../run-measures.ts";
import type { RunPart, RunRow, StoredRun } from "../run-row.ts";
import { visibleToken } from "../../storage/share-token.ts";
import type { UsageName } from "../usage-sources.ts";
import { toCostText, toIso } from "../../http/wire-text.ts";

/** A member of a run that the server derives from stored columns instead of the payload. */
export interface RunMember {
  /** The parts of the run that must have been read. */
  readonly parts: readonly RunPart[];
  readonly toJson: (run: StoredRun) => string;
}

/** A member that depends only on the named columns of the row. */
const fromRow = <Field extends keyof RunRow>(
  parts: readonly Field[],
  toJson: (row: Pick<RunRow, Field>) => string,
): RunMember => ({ parts, toJson: ({ row }) => toJson(row) });

const fromConstant = (json: string): RunMember => ({ parts: [], toJson: () => json });

/** Most strings need no escapes in JSON. Testing for that takes a third of the time of escaping. */
const isPlain = /^[ !#-[\]-~]*$/;
const quote = (text: string): string => (isPlain.test(text) ? `"${text}"` : JSON.stringify(text));
const quoteOrNull = (text: string | null): string => (text === null ? "null" : quote(text));
const toTime = (micros: number | null): string => (micros === null ? "null" : `"${toIso(micros)}"`);

/** The members that the server adds to a run, in the order of the response. */
export const rowMembers: readonly (readonly [string, RunMember])[] = Object.entries<RunMember>({
  id: fromRow(["id"], ({ id }) => quote(id)),
  name: fromRow(["name"], ({ name }) => quote(name)),
  run_type: fromRow(["runType"], ({ runType }) => quote(runType)),
  start_time: fromRow(["startMicros"], ({ startMicros }) => toTime(startMicros)),
  end_time: fromRow(["endMicros"], ({ endMicros }) => toTime(endMicros)),
  status: fromRow(["hasError", "endMicros"], (row) => `"${statusOf(row)}"`),
  parent_run_id: fromRow(["parentRunId"], ({ parentRunId }) => quoteOrNull(parentRunId)),
  parent_run_ids: fromRow(["dottedOrder"], (row) => JSON.stringify(ancestorsOf(row))),
  child_run_ids: { parts: [], toJson: ({ childRunIds }) => JSON.stringify(childRunIds) },
  direct_child_run_ids: {
    parts: [],
    toJson: ({ directChildRunIds }) => JSON.stringify(directChildRunIds),
  },
  trace_id: fromRow(["traceId"], ({ traceId }) => quote(traceId)),
  dotted_order: fromRow(["dottedOrder"], ({ dottedOrder }) => quote(dottedOrder)),
  session_id: fromRow(["projectId"], ({ projectId }) => quote(projectId)),
  session_name: { parts: ["projectName"], toJson: ({ projectName }) => quote(projectName) },
  reference_example_id: fromRow(["referenceExampleId"], (row) =>
    quoteOrNull(row.referenceExampleId),
  ),
  execution_order: fromConstant("1"),
  in_dataset: fromConstant("null"),
  manifest_id: fromConstant("null"),
  share_token: {
    parts: ["shareToken"],
    toJson: ({ shareToken }) => quoteOrNull(visibleToken(shareToken)),
  },
  app_path: {
    parts: ["tenantId", "projectId", "id"],
    toJson: ({ row, tenantId }) => quote(`/o/${tenantId}/projects/p/${row.projectId}/r/${row.id}`),
  },
});

const countOf = (name: UsageName) => (measures: RunMeasures | undefined) =>
  JSON.stringify(Math.round(measures?.[name] ?? 0));
const costOf = (name: UsageName) => (measures: RunMeasures | undefined) =>
  JSON.stringify(toCostText(measures?.[name]));

/** Usage members of a run. On the wire, counts are integers and never null, and costs are decimal strings. */
export const measureMembers = Object.entries<(measures: RunMeasures | undefined) => string>({
  total_tokens: countOf("total_tokens"),
  prompt_tokens: countOf("prompt_tokens"),
  completion_tokens: countOf("completion_tokens"),
  total_cost: costOf("total_cost"),
  prompt_cost: costOf("prompt_cost"),
  completion_cost: costOf("completion_cost"),
  first_token_time: (measures) => toTime(measures?.first_token_us ?? null),
});

function statusOf({ hasError, endMicros }: Pick<RunRow, "hasError" | "endMicros">): string {
  if (hasError) {
    return "error";
  }
  return endMicros === null ? "pending" : "success";
}

const stampLength = 22;

/** Ids of the run's ancestors, the root first. */
const ancestorsOf = ({ dottedOrder }: Pick<RunRow, "dottedOrder">): string[] =>
  dottedOrder
    .split(".")
    .slice(0, -1)
    .map((segment) => segment.slice(stampLength));
