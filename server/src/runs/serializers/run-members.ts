import type { StoredCost } from "../usage/run-cost.ts";
import type { RunMeasures } from "../usage/measures.ts";
import { determineStatus } from "../run-row.ts";
import type { RunPart, RunRow, StoredRun } from "../run-row.ts";
import { toVisibleToken } from "../../storage/share-token.ts";
import type { UsageName } from "../usage/usage-sources.ts";
import { toCostText, toIso } from "../../http/wire-text.ts";

/** A member of a run that the server creates from stored columns instead of the payload. */
export interface RunMember {
  /** The parts of the run that this member requires. */
  readonly parts: readonly RunPart[];
  readonly toJson: (run: StoredRun) => string;
}

/** Creates a member that depends only on the named columns of the row. */
const createRowMember = <Field extends keyof RunRow>(
  parts: readonly Field[],
  toJson: (row: Pick<RunRow, Field>) => string,
): RunMember => ({ parts, toJson: ({ row }) => toJson(row) });

const createConstantMember = (json: string): RunMember => ({ parts: [], toJson: () => json });

/**
 * Matches strings that need no escapes in JSON, as most do. Testing a string takes a third of the time of escaping
 * it.
 */
const plainTextPattern = /^[ !#-[\]-~]*$/;
const quote = (text: string): string =>
  plainTextPattern.test(text) ? `"${text}"` : JSON.stringify(text);
const quoteOrNull = (text: string | null): string => (text === null ? "null" : quote(text));
const toTime = (micros: number | null): string => (micros === null ? "null" : `"${toIso(micros)}"`);

/** The members that the server adds to a run, in the order of the response. */
export const rowMembers: readonly (readonly [string, RunMember])[] = Object.entries<RunMember>({
  id: createRowMember(["id"], ({ id }) => quote(id)),
  name: createRowMember(["name"], ({ name }) => quote(name)),
  run_type: createRowMember(["runType"], ({ runType }) => quote(runType)),
  start_time: createRowMember(["startMicros"], ({ startMicros }) => toTime(startMicros)),
  end_time: createRowMember(["endMicros"], ({ endMicros }) => toTime(endMicros)),
  status: createRowMember(["hasError", "endMicros"], (row) => `"${determineStatus(row)}"`),
  parent_run_id: createRowMember(["parentRunId"], ({ parentRunId }) => quoteOrNull(parentRunId)),
  parent_run_ids: createRowMember(["dottedOrder"], (row) => JSON.stringify(listAncestors(row))),
  child_run_ids: { parts: [], toJson: ({ childRunIds }) => JSON.stringify(childRunIds) },
  direct_child_run_ids: {
    parts: [],
    toJson: ({ directChildRunIds }) => JSON.stringify(directChildRunIds),
  },
  trace_id: createRowMember(["traceId"], ({ traceId }) => quote(traceId)),
  dotted_order: createRowMember(["dottedOrder"], ({ dottedOrder }) => quote(dottedOrder)),
  session_id: createRowMember(["projectId"], ({ projectId }) => quote(projectId)),
  session_name: { parts: ["projectName"], toJson: ({ projectName }) => quote(projectName) },
  reference_example_id: createRowMember(["referenceExampleId"], (row) =>
    quoteOrNull(row.referenceExampleId),
  ),
  execution_order: createConstantMember("1"),
  in_dataset: createConstantMember("null"),
  manifest_id: createConstantMember("null"),
  share_token: {
    parts: ["shareToken"],
    toJson: ({ shareToken }) => quoteOrNull(toVisibleToken(shareToken)),
  },
  app_path: {
    parts: ["tenantId", "projectId", "id"],
    toJson: ({ row, tenantId }) => quote(`/o/${tenantId}/projects/p/${row.projectId}/r/${row.id}`),
  },
});

/** Adds the stored cost to the measures that the payload reports. The server may have computed it. */
export function addStoredCost(
  measures: RunMeasures | undefined,
  cost: StoredCost | undefined,
): RunMeasures | undefined {
  if (measures === undefined || cost === undefined || cost.total_cost === null) {
    return measures;
  }
  const { total_cost, prompt_cost, completion_cost } = cost;
  return { ...measures, total_cost, prompt_cost, completion_cost };
}

const createCountMember = (name: UsageName) => (measures: RunMeasures | undefined) =>
  JSON.stringify(Math.round(measures?.[name] ?? 0));
const createCostMember = (name: UsageName) => (measures: RunMeasures | undefined) =>
  JSON.stringify(toCostText(measures?.[name]));

/** The usage members of a run. In responses, counts are integers and never null, and costs are decimal strings. */
export const measureMembers = Object.entries<(measures: RunMeasures | undefined) => string>({
  total_tokens: createCountMember("total_tokens"),
  prompt_tokens: createCountMember("prompt_tokens"),
  completion_tokens: createCountMember("completion_tokens"),
  total_cost: createCostMember("total_cost"),
  prompt_cost: createCostMember("prompt_cost"),
  completion_cost: createCostMember("completion_cost"),
  first_token_time: (measures) => toTime(measures?.first_token_us ?? null),
});

/** Length of the timestamp that precedes the id in each segment of a dotted order. */
const stampLength = 22;

/** Returns the ids of the run's ancestors, beginning with the root. */
const listAncestors = ({ dottedOrder }: Pick<RunRow, "dottedOrder">): string[] =>
  dottedOrder
    .split(".")
    .slice(0, -1)
    .map((segment) => segment.slice(stampLength));
