import { createHash } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import type { FeedbackDraft, Judgement } from "../runs/run-feedback.ts";
import type { Feedback, FeedbackToken } from "./feedback.ts";
import type { FeedbackRow, FeedbackTable, JudgementColumns, TokenRow } from "./feedback-queries.ts";

export function parseFeedbackRow(row: FeedbackRow): Feedback {
  const run =
    row.run_project_id !== null && row.trace_id !== null && row.start_us !== null
      ? {
          traceId: row.trace_id,
          startMicros: row.start_us,
          isRoot: row.parent_run_id === null,
        }
      : null;
  return {
    id: row.id,
    runId: row.run_id,
    projectId: row.run_project_id ?? row.project_id,
    comparativeId: row.comparative_id,
    key: String(parseJson(row.key_json)),
    score: parseJson(row.score_json) as Feedback["score"],
    value: parseJson(row.value_json),
    comment: parseJson(row.comment_json) as string | null,
    correction: parseJson(row.correction_json) as Feedback["correction"],
    config: parseJson(row.config_json) as Feedback["config"],
    extra: parseJson(row.extra_json) as Feedback["extra"],
    sourceType: String(parseJson(row.source_type_json)),
    sourceMetadata: parseJson(row.source_metadata_json) as Feedback["sourceMetadata"],
    createdMicros: row.created_us,
    modifiedMicros: row.modified_us,
    run,
  };
}

/**
 * Computes a digest of submitted feedback. By the digest, the server distinguishes a repeated submission from different
 * feedback with the same id.
 */
export const digestDraft = (draft: FeedbackDraft): string =>
  createHash("sha256").update(JSON.stringify(draft)).digest("base64url");

/**
 * Checks by the digests that a draft has the same content as the stored feedback with the same id.
 *
 * @throws RequestError 409: the stored feedback has different content.
 */
export function assertRepetition(draft: FeedbackDraft, digest: string, storedDigest: string): void {
  if (storedDigest !== digest) {
    throw new RequestError(409, `Feedback ${draft.id} already exists with different content.`);
  }
}

/**
 * Checks that the project and the comparison of feedback exist.
 *
 * @throws RequestError 404: the tenant has no such project or comparison.
 */
export function assertTargets({
  hasProject,
  hasComparative,
}: {
  readonly hasProject: boolean;
  readonly hasComparative: boolean;
}): void {
  if (!hasProject) {
    throw new RequestError(404, "Session not found");
  }
  if (!hasComparative) {
    throw new RequestError(404, "Comparative experiment not found");
  }
}

/**
 * Returns the id of the project that must exist before feedback is stored; `null` for feedback on a run, because the
 * run and its project may arrive later.
 */
export const findRequiredProject = (
  runId: string | null,
  projectId: string | null,
): string | null => (runId === null ? projectId : null);

/**
 * Creates the row of new feedback. `runId` and `projectId` are the keys of rows in the database; they replace the ids
 * of the draft.
 */
export function toFeedbackRow(
  tenantId: string,
  draft: FeedbackDraft,
  { runId, projectId, digest }: Pick<FeedbackDraft, "runId" | "projectId"> & { digest: string },
): FeedbackTable {
  const createdMicros = draft.createdMicros ?? Date.now() * 1_000;
  return {
    tenant_id: tenantId,
    id: draft.id,
    run_id: runId,
    project_id: projectId,
    comparative_id: draft.comparativeId,
    key_json: JSON.stringify(draft.key),
    ...toJudgementColumns(draft),
    extra_json: toJson(draft.extra),
    source_type_json: JSON.stringify(draft.sourceType),
    source_metadata_json: toJson(draft.sourceMetadata),
    created_us: createdMicros,
    modified_us: createdMicros,
    digest,
  };
}

/** Converts the fields of a judgement, such as the score and the comment, to columns. */
export const toJudgementColumns = (judgement: Judgement): JudgementColumns => ({
  score: judgement.score === null ? null : Number(judgement.score),
  score_json: toJson(judgement.score),
  value_json: toJson(judgement.value),
  comment_json: toJson(judgement.comment),
  correction_json: toJson(judgement.correction),
  config_json: toJson(judgement.config),
});

/** Converts a row to a token for giving feedback. */
export const parseTokenRow = (token: string, row: TokenRow): FeedbackToken => ({
  token,
  tenantId: row.tenant_id,
  id: row.id,
  runId: row.run_id,
  key: String(parseJson(row.key_json)),
  config: parseJson(row.config_json) as FeedbackToken["config"],
  expiresMicros: row.expires_us,
});

/** Serializes a value; `null` if there is no value. */
export const toJson = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value);

const parseJson = (json: unknown): unknown => (typeof json === "string" ? JSON.parse(json) : null);
