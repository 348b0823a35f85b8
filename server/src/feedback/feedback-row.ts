import type { Feedback, FeedbackToken } from "./feedback.ts";
import type { Judgement } from "../runs/run-feedback.ts";

type Value = string | number | null;

/** The columns of `feedback f`, in the order of {@link parseFeedbackRow}. */
const feedbackColumns = [
  "id",
  "run_id",
  "project_id",
  "comparative_id",
  "key_json",
  "score_json",
  "value_json",
  "comment_json",
  "correction_json",
  "config_json",
  "extra_json",
  "source_type_json",
  "source_metadata_json",
  "created_us",
  "modified_us",
];

/**
 * Feedback joined with its run, if the run was received and belongs to the same tenant; `p` is the project of the
 * run.
 */
const feedbackSource = `feedback f LEFT JOIN runs r ON r.id = f.run_id
  LEFT JOIN projects p ON p.id = r.project_id AND p.tenant_id = f.tenant_id`;

export const feedbackSelection = `SELECT ${feedbackColumns.map((name) => `f.${name}`).join(", ")},
  p.id, r.trace_id, r.start_us, r.parent_run_id IS NULL FROM ${feedbackSource}`;

/** Parses a row of {@link feedbackSelection}. */
export function parseFeedbackRow(values: readonly unknown[]): Feedback {
  const [id, runId, projectId, comparativeId, key, score, value, comment, ...others] = values;
  const [correction, config, extra, sourceType, sourceMetadata, created, modified, ...run] = others;
  const [runProjectId, traceId, start, isRoot] = run;
  const isReceived = typeof runProjectId === "string";
  return {
    id: String(id),
    runId: textOrNull(runId),
    projectId: isReceived ? runProjectId : textOrNull(projectId),
    comparativeId: textOrNull(comparativeId),
    key: String(parseJson(key)),
    score: parseJson(score) as Feedback["score"],
    value: parseJson(value),
    comment: parseJson(comment) as string | null,
    correction: parseJson(correction) as Feedback["correction"],
    config: parseJson(config) as Feedback["config"],
    extra: parseJson(extra) as Feedback["extra"],
    sourceType: String(parseJson(sourceType)),
    sourceMetadata: parseJson(sourceMetadata) as Feedback["sourceMetadata"],
    createdMicros: Number(created),
    modifiedMicros: Number(modified),
    run: isReceived
      ? { traceId: String(traceId), startMicros: Number(start), isRoot: isRoot === 1 }
      : null,
  };
}

/** The columns that {@link judgementToValues} fills. */
export const judgementColumns =
  "score, score_json, value_json, comment_json, correction_json, config_json";

/** The values of {@link judgementColumns}. */
export const judgementToValues = (judgement: Judgement): Value[] => [
  judgement.score === null ? null : Number(judgement.score),
  toJson(judgement.score),
  toJson(judgement.value),
  toJson(judgement.comment),
  toJson(judgement.correction),
  toJson(judgement.config),
];

export const tokenColumns = "tenant_id, id, run_id, key_json, config_json, expires_us, created_us";

/** Parses a row of {@link tokenColumns}; the token itself is not in the row. */
export function parseTokenRow(token: string, values: readonly unknown[]): FeedbackToken {
  const [tenantId, id, runId, key, config, expires] = values;
  return {
    token,
    tenantId: String(tenantId),
    id: String(id),
    runId: String(runId),
    key: String(parseJson(key)),
    config: parseJson(config) as FeedbackToken["config"],
    expiresMicros: Number(expires),
  };
}

/** `null` if there is no value. */
export const toJson = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value);

const parseJson = (json: unknown): unknown => (typeof json === "string" ? JSON.parse(json) : null);

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);
