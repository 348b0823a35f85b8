import { toItems } from "../../api/parse.ts";
import { parseTimeMs } from "../../components/time/time.ts";
import { parseFeedbackSummary } from "./feedback-summary.tsx";
import type { FeedbackSummary } from "./feedback-summary.tsx";
import type { RunStatus } from "./run.ts";

/** A run in the list. Fields that the request did not select are `undefined` or empty. */
export interface RunItem {
  readonly id: string;
  readonly traceId: string;
  readonly parentRunId: string | undefined;
  readonly name: string;
  readonly runType: string;
  readonly status: RunStatus;
  readonly startMs: number;
  /** Absent while the run has not ended. */
  readonly endMs: number | undefined;
  /** The time of the run's first token. For a root without one, the earliest first token of any run of its trace. */
  readonly firstTokenMs: number | undefined;
  /** The tokens that the run reports. For a root run, the tokens of all model calls of its trace. */
  readonly tokens: number | undefined;
  /** In US dollars, of the same runs as `tokens`. */
  readonly cost: number | undefined;
  /** Whether tokens and cost are lower bounds, because the trace has more runs than the server added up. */
  readonly isUsagePartial: boolean;
  /** The names of the models that were called. */
  readonly models: readonly string[];
  readonly tags: readonly string[];
  /** Shortened texts of the metadata's values. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly feedback: Readonly<Record<string, FeedbackSummary>>;
  /** The beginnings of the error, the inputs and the outputs, which may be long. */
  readonly error: string | undefined;
  readonly inputs: string | undefined;
  readonly outputs: string | undefined;
  readonly exampleId: string | undefined;
}

export interface RunItemPage {
  readonly items: readonly RunItem[];
  /** The cursor of the next page; `undefined` at the end of the list. */
  readonly next: string | undefined;
  /**
   * The server searches from the newest run to the oldest. If its time limit ended the search before the page was full,
   * this is the start time of the run at which the search ended.
   */
  readonly searchedToMs: number | undefined;
  /** Whether the server's time limit ended the search before the page was full. */
  readonly isShort: boolean;
}

/** @throws TypeError the response is not a page of runs. */
export function parseRunItemPage(value: unknown): RunItemPage {
  const { runs, cursors, searched_to: searchedTo, is_short: isShort } = toRecord(value);
  if (!Array.isArray(runs)) {
    throw new TypeError("The response contains no list of runs.");
  }
  return {
    items: runs.map(parseRunItem),
    next: toText(toRecord(cursors)["next"]),
    searchedToMs: parseTimeMs(searchedTo),
    isShort: isShort === true,
  };
}

function parseRunItem(value: unknown): RunItem {
  const run = toRecord(value);
  const id = toText(run["id"]);
  const startMs = parseTimeMs(run["start_time"]);
  if (id === undefined || startMs === undefined) {
    throw new TypeError("The response contains a run without an id or a start time.");
  }
  const status = run["status"];
  const usage = toRecord(run["trace_usage"]);
  const models = toItems(usage["models"]).map(String);
  const metadata = toRecord(run["metadata"]) as RunItem["metadata"];
  const ownModel = metadata["ls_model_name"];
  return {
    id,
    startMs,
    traceId: toText(run["trace_id"]) ?? id,
    parentRunId: toText(run["parent_run_id"]),
    name: toText(run["name"]) ?? "",
    runType: toText(run["run_type"]) ?? "chain",
    status: status === "success" || status === "error" ? status : "pending",
    endMs: parseTimeMs(run["end_time"]),
    firstTokenMs: parseTimeMs(run["first_token_time"]) ?? parseTimeMs(usage["first_token_time"]),
    tokens: toAmount(usage["total_tokens"] ?? run["total_tokens"]),
    cost: toNumber(usage["total_cost"] ?? run["total_cost"]),
    isUsagePartial: usage["is_partial"] === true,
    models: models.length > 0 ? models : [ownModel].filter((model) => model !== undefined),
    tags: Array.isArray(run["tags"]) ? run["tags"].map(String) : [],
    metadata,
    feedback: Object.fromEntries(
      Object.entries(toRecord(run["feedback_stats"])).map(([key, summary]) => [
        key,
        parseFeedbackSummary(summary),
      ]),
    ),
    error: toText(run["error"]),
    inputs: toText(run["inputs"]),
    outputs: toText(run["outputs"]),
    exampleId: toText(run["reference_example_id"]),
  };
}

/** Converts a cost, which is a number or a decimal text. */
function toNumber(value: unknown): number | undefined {
  const number = Number(value ?? Number.NaN);
  return Number.isFinite(number) ? number : undefined;
}

/** Converts a number of tokens. A run without usage reports zero tokens, which becomes `undefined`. */
function toAmount(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 ? value : undefined;
}

const toText = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

const toRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
