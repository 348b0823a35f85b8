import { parseTimeMs } from "../../components/time/time.ts";

export type RunStatus = "success" | "error" | "pending";

/** The fields of a run that a list shows. */
export interface RunSummary {
  readonly id: string;
  readonly traceId: string;
  readonly parentRunId: string | undefined;
  readonly name: string;
  readonly runType: string;
  readonly status: RunStatus;
  readonly startMs: number;
  /** Absent while the run has not ended. */
  readonly endMs: number | undefined;
  /** The first line of the error, at most 300 characters; `undefined` if the request did not select the error. */
  readonly errorLine: string | undefined;
}

export interface RunDetails extends RunSummary {
  readonly inputs: unknown;
  readonly outputs: unknown;
  readonly error: string | undefined;
  readonly events: readonly unknown[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tags: readonly string[];
}

/** @throws TypeError the value is not a run. */
export function parseRunDetails(value: unknown): RunDetails {
  const run = toRecord(value);
  const extra = toRecord(run["extra"]);
  return {
    ...parseRunSummary(value),
    inputs: run["inputs"] ?? undefined,
    outputs: run["outputs"] ?? undefined,
    error: toText(run["error"]),
    events: Array.isArray(run["events"]) ? run["events"] : [],
    metadata: toRecord(extra["metadata"]),
    tags: Array.isArray(run["tags"]) ? run["tags"].map(String) : [],
  };
}

function parseRunSummary(value: unknown): RunSummary {
  const run = toRecord(value);
  const id = toText(run["id"]);
  const startMs = parseTimeMs(run["start_time"]);
  if (id === undefined || startMs === undefined) {
    throw new TypeError("The response contains a run without an id or a start time.");
  }
  return {
    id,
    traceId: toText(run["trace_id"]) ?? id,
    parentRunId: toText(run["parent_run_id"]),
    name: toText(run["name"]) ?? "",
    runType: toText(run["run_type"]) ?? "chain",
    status: toStatus(run["status"]),
    startMs,
    endMs: parseTimeMs(run["end_time"]),
    errorLine: toText(run["error"])?.split("\n", 1)[0]?.slice(0, 300),
  };
}

const toStatus = (value: unknown): RunStatus =>
  value === "success" || value === "error" ? value : "pending";

const toText = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

const toRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
