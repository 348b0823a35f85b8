import type { RunMeasures } from "../run-measures.ts";
import type { RunPart, RunRow, StoredRun } from "../run-row.ts";
import { shownToken } from "../../storage/share-token.ts";
import type { UsageName } from "../usage-sources.ts";
import { toCostText, toIso } from "../../http/wire-text.ts";

/** A member that is made of what is stored of a run beside what was received. */
export interface RunMember {
  /** What must have been read of the run. */
  readonly parts: readonly RunPart[];
  readonly toJson: (run: StoredRun) => string;
}

/** Of the row alone: of that just what is named. */
const ofRow = <Field extends keyof RunRow>(
  parts: readonly Field[],
  toJson: (row: Pick<RunRow, Field>) => string,
): RunMember => ({ parts, toJson: ({ row }) => toJson(row) });

const ofAll = (json: string): RunMember => ({ parts: [], toJson: () => json });

/** Most texts are as they are in JSON: to see that takes a third of what it takes to write them. */
const isPlain = /^[ !#-[\]-~]*$/;
const quote = (text: string): string => (isPlain.test(text) ? `"${text}"` : JSON.stringify(text));
const quoteOrNull = (text: string | null): string => (text === null ? "null" : quote(text));
const toTime = (micros: number | null): string => (micros === null ? "null" : `"${toIso(micros)}"`);

/** The members of a run that the server adds, in this order. */
export const rowMembers: readonly (readonly [string, RunMember])[] = Object.entries<RunMember>({
  id: ofRow(["id"], ({ id }) => quote(id)),
  name: ofRow(["name"], ({ name }) => quote(name)),
  run_type: ofRow(["runType"], ({ runType }) => quote(runType)),
  start_time: ofRow(["startMicros"], ({ startMicros }) => toTime(startMicros)),
  end_time: ofRow(["endMicros"], ({ endMicros }) => toTime(endMicros)),
  status: ofRow(["hasError", "endMicros"], (row) => `"${statusOf(row)}"`),
  parent_run_id: ofRow(["parentRunId"], ({ parentRunId }) => quoteOrNull(parentRunId)),
  parent_run_ids: ofRow(["dottedOrder"], (row) => JSON.stringify(ancestorsOf(row))),
  child_run_ids: { parts: [], toJson: ({ childRunIds }) => JSON.stringify(childRunIds) },
  direct_child_run_ids: {
    parts: [],
    toJson: ({ directChildRunIds }) => JSON.stringify(directChildRunIds),
  },
  trace_id: ofRow(["traceId"], ({ traceId }) => quote(traceId)),
  dotted_order: ofRow(["dottedOrder"], ({ dottedOrder }) => quote(dottedOrder)),
  session_id: ofRow(["projectId"], ({ projectId }) => quote(projectId)),
  session_name: { parts: ["projectName"], toJson: ({ projectName }) => quote(projectName) },
  reference_example_id: ofRow(["referenceExampleId"], (row) => quoteOrNull(row.referenceExampleId)),
  execution_order: ofAll("1"),
  in_dataset: ofAll("null"),
  manifest_id: ofAll("null"),
  share_token: {
    parts: ["shareToken"],
    toJson: ({ shareToken }) => quoteOrNull(shownToken(shareToken)),
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

/** What is counted of a run. Counts are whole and never null on the wire, costs are decimal texts. */
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

/** Ids of the runs above, root first. */
const ancestorsOf = ({ dottedOrder }: Pick<RunRow, "dottedOrder">): string[] =>
  dottedOrder
    .split(".")
    .slice(0, -1)
    .map((segment) => segment.slice(stampLength));
