import { randomUUID } from "node:crypto";
import { ValidationError } from "../model/errors.ts";
import type { FeedbackConfig, FeedbackSourceType } from "../model/resources/feedback.ts";
import { definedOf } from "../model/fields.ts";
import { assertUuid, checkId, checkIds } from "../model/ids.ts";
import type { KeyValues } from "../model/run.ts";
import type { KeyTable } from "../model/unknown-keys.ts";
import { toWireExpiry } from "./feedback-expiry.ts";
import type { Expiration } from "./feedback-expiry.ts";
import type { CallOptions } from "./http/http.ts";
import { toIsoTime } from "./http/iso-time.ts";

/** What is judged: a run or a project, never both. */
export type FeedbackTarget =
  | { readonly runId: string; readonly projectId?: undefined }
  | { readonly projectId: string; readonly runId?: undefined };

/** The judgement itself. `null` takes away what was there. */
export interface FeedbackFields {
  readonly score?: number | boolean | null | undefined;
  /** Any JSON. */
  readonly value?: unknown;
  readonly comment?: string | null | undefined;
  /** What would have been right. */
  readonly correction?: KeyValues | string | null | undefined;
  /** What the scores of the key mean. */
  readonly feedbackConfig?: FeedbackConfig | undefined;
}

/** What {@link Feedbacks.create} takes: what is judged, the judgement, and who gives it. */
export type CreateFeedback = FeedbackTarget &
  FeedbackFields &
  CallOptions & {
    readonly key: string;
    /** @defaultValue a new one */
    readonly id?: string | undefined;
    /** @defaultValue "api" */
    readonly sourceType?: FeedbackSourceType | undefined;
    /** Free-form; kept with where the judgement came from. */
    readonly sourceMetadata?: KeyValues | undefined;
    /** The run that judged; kept as `__run` in the source's metadata. */
    readonly sourceRunId?: string | undefined;
    /** The comparison that the judgement is part of. */
    readonly comparativeExperimentId?: string | undefined;
    /** Where the judged run is, for servers that look it up by more than its id: its trace. */
    readonly traceId?: string | undefined;
    /** As `traceId`: the run's project. */
    readonly runProjectId?: string | undefined;
    /** As `traceId`: when the run started. */
    readonly runStartTime?: Date | string | undefined;
  };

/** The members of a judgement, and of what stands in them. */
export const feedbackKeys: KeyTable<CreateFeedback> = {
  signal: true,
  runId: true,
  projectId: true,
  key: true,
  score: true,
  value: true,
  comment: true,
  correction: true,
  feedbackConfig: { type: true, min: true, max: true, categories: [{ value: true, label: true }] },
  id: true,
  sourceType: true,
  sourceMetadata: true,
  sourceRunId: true,
  comparativeExperimentId: true,
  traceId: true,
  runProjectId: true,
  runStartTime: true,
};

/** What is left out stays as it is. */
export interface UpdateFeedback extends FeedbackFields, CallOptions {}

/** Every filter that is given must hold. */
export interface ListFeedback extends CallOptions {
  readonly runIds?: readonly string[] | undefined;
  readonly projectIds?: readonly string[] | undefined;
  readonly keys?: readonly string[] | undefined;
  readonly sourceTypes?: readonly FeedbackSourceType[] | undefined;
  /** What was judged. */
  readonly level?: "run" | "project" | undefined;
  readonly hasScore?: boolean | undefined;
  readonly hasComment?: boolean | undefined;
  readonly comparativeExperimentId?: string | undefined;
  /** Given at or after. */
  readonly minCreatedAt?: Date | string | undefined;
  /** Given at or before. */
  readonly maxCreatedAt?: Date | string | undefined;
  /** Entries at most, from 1. @defaultValue all of them */
  readonly limit?: number | undefined;
}

/** The options of a feedback token. */
export interface TokenOptions {
  /** When the token ends. @defaultValue after 3 hours */
  readonly expiration?: Expiration | undefined;
  /** What the scores of the key mean. */
  readonly feedbackConfig?: FeedbackConfig | undefined;
}

/** What {@link Feedbacks.createToken} takes beside run and key. */
export interface CreateFeedbackToken extends TokenOptions, CallOptions {}

/** One of several tokens that are made at once. */
export interface FeedbackTokenRequest extends TokenOptions {
  readonly runId: string;
  readonly feedbackKey: string;
}

/** The texts are the specification's (section 5). */
function assertTarget({
  runId,
  projectId,
}: {
  readonly runId?: unknown;
  readonly projectId?: unknown;
}): void {
  const hasRun = runId !== undefined && runId !== null;
  const hasProject = projectId !== undefined && projectId !== null;
  if (!hasRun && !hasProject) {
    throw new ValidationError("One of runId or projectId must be provided");
  }
  if (hasRun && hasProject) {
    throw new ValidationError("Only one of runId or projectId can be provided");
  }
  assertUuid(hasRun ? runId : projectId, hasRun ? "run id" : "project id");
}

function assertKey(key: unknown): void {
  if (typeof key !== "string" || key === "") {
    throw new ValidationError("The key of feedback must be a text, not empty");
  }
}

/**
 * A judgement as the wire has it, with its id.
 *
 * @throws {@link ValidationError} neither run nor project, both, or an id that is not a UUID.
 */
export function toWireFeedback(feedback: CreateFeedback): Readonly<Record<string, unknown>> {
  assertTarget(feedback);
  assertKey(feedback.key);
  const { runId = null, projectId, runProjectId, comparativeExperimentId } = feedback;
  return definedOf({
    id: checkId(feedback.id, "feedback id") ?? randomUUID(),
    run_id: runId,
    key: feedback.key,
    ...toWireFields(feedback),
    // The name that the specification has, beside that of the servers' schema.
    feedbackConfig: feedback.feedbackConfig,
    feedback_source: sourceOf(feedback),
    comparative_experiment_id: checkId(comparativeExperimentId, "comparative experiment id"),
    session_id: projectId ?? checkId(runProjectId, "project id of the run"),
    trace_id: checkId(feedback.traceId, "trace id"),
    start_time: toIsoTime(feedback.runStartTime, "runStartTime"),
  });
}

export function toWireFields(fields: FeedbackFields): Readonly<Record<string, unknown>> {
  const { score, value, correction, comment, feedbackConfig } = fields;
  if (typeof score === "number" && !Number.isFinite(score)) {
    // JSON has none of these: it would arrive as no score.
    throw new ValidationError(`score must be a finite number or a boolean, not ${score}`);
  }
  return { score, value, correction, comment, feedback_config: feedbackConfig };
}

function sourceOf(feedback: CreateFeedback): Readonly<Record<string, unknown>> {
  const { sourceType = "api", sourceMetadata = {}, sourceRunId } = feedback;
  const { run_id: runId } = Object(sourceMetadata["__run"] ?? { run_id: sourceRunId }) as KeyValues;
  if (runId !== undefined) {
    assertUuid(runId, "source run id");
  }
  const metadata =
    sourceRunId === undefined
      ? sourceMetadata
      : { __run: { run_id: sourceRunId }, ...sourceMetadata };
  return { type: sourceType, metadata };
}

/** The members of a filter, except its runs and projects, which are checked separately. */
export function toWireFilter(filter: ListFeedback) {
  checkIds(filter.runIds, "run id");
  checkIds(filter.projectIds, "project id");
  return {
    key: filter.keys,
    source: filter.sourceTypes,
    level: filter.level === "project" ? "session" : filter.level,
    has_score: filter.hasScore,
    has_comment: filter.hasComment,
    comparative_experiment_id: checkId(filter.comparativeExperimentId, "comparative experiment id"),
    min_created_at: toIsoTime(filter.minCreatedAt, "minCreatedAt"),
    max_created_at: toIsoTime(filter.maxCreatedAt, "maxCreatedAt"),
  };
}

export function toWireToken(request: FeedbackTokenRequest): Readonly<Record<string, unknown>> {
  const { runId, feedbackKey, feedbackConfig, expiration } = request;
  assertUuid(runId, "run id");
  assertKey(feedbackKey);
  return definedOf({
    run_id: runId,
    feedback_key: feedbackKey,
    feedback_config: feedbackConfig,
    ...toWireExpiry(expiration),
  });
}
