import { randomUUID } from "node:crypto";
import { ValidationError } from "../model/errors.ts";
import type { FeedbackConfig, FeedbackSourceType } from "../model/resources/feedback.ts";
import { omitUndefined } from "../model/fields.ts";
import { assertUuid, validateId, validateIds } from "../model/ids.ts";
import type { KeyValues } from "../model/run.ts";
import type { KeyTable } from "../model/unknown-keys.ts";
import { toWireExpiry } from "./feedback-expiry.ts";
import type { Expiration } from "./feedback-expiry.ts";
import { abortSignal, notNull, oneOf } from "./http/argument-checks.ts";
import type { CallOptions } from "./http/http.ts";
import { toIsoTime } from "./http/iso-time.ts";

/** What the feedback is about: either a run or a project. */
export type FeedbackTarget =
  | { readonly runId: string; readonly projectId?: undefined }
  | { readonly projectId: string; readonly runId?: undefined };

/** Content of the feedback. `null` clears a field. */
export interface FeedbackFields {
  readonly score?: number | boolean | null | undefined;
  /** Any value that JSON can represent. */
  readonly value?: unknown;
  readonly comment?: string | null | undefined;
  /** The output that would have been correct. */
  readonly correction?: KeyValues | string | null | undefined;
  /** Type and range of the scores that feedback with this key can have. */
  readonly feedbackConfig?: FeedbackConfig | undefined;
}

/** Arguments of {@link Feedbacks.create}. */
export type CreateFeedback = FeedbackTarget &
  FeedbackFields &
  CallOptions & {
    readonly key: string;
    /** @defaultValue a new random UUID */
    readonly id?: string | undefined;
    /** Whether the evaluator failed, so that there is no score. @defaultValue false */
    readonly error?: boolean | undefined;
    /** @defaultValue "api" */
    readonly sourceType?: FeedbackSourceType | undefined;
    /** When the feedback was given; set it when you copy existing feedback. @defaultValue now */
    readonly createdAt?: Date | string | undefined;
    /** Any metadata about the source of the feedback. */
    readonly sourceMetadata?: KeyValues | undefined;
    /** The run that produced the feedback, such as an evaluator's. Stored as `__run` in the source's metadata. */
    readonly sourceRunId?: string | undefined;
    /** The comparison that the feedback belongs to. */
    readonly comparativeExperimentId?: string | undefined;
    /**
     * Trace of the run that the feedback is about. Some servers need it, with `runProjectId` and
     * `runStartTime`, to find the run.
     */
    readonly traceId?: string | undefined;
    /** Project of the run; see `traceId`. */
    readonly runProjectId?: string | undefined;
    /** Start time of the run; see `traceId`. */
    readonly runStartTime?: Date | string | undefined;
  };

const sourceTypes: { readonly [Type in FeedbackSourceType]: true } = {
  api: true,
  model: true,
  app: true,
  auto_eval: true,
};

/** Every key that a feedback object and its nested objects may have; other keys are refused. */
export const feedbackKeys: KeyTable<CreateFeedback> = {
  signal: abortSignal,
  runId: true,
  projectId: true,
  key: true,
  score: true,
  value: true,
  comment: true,
  correction: true,
  feedbackConfig: { type: true, min: true, max: true, categories: [{ value: true, label: true }] },
  id: true,
  error: true,
  createdAt: true,
  sourceType: oneOf(...Object.keys(sourceTypes)),
  sourceMetadata: notNull("{}"),
  sourceRunId: true,
  comparativeExperimentId: true,
  traceId: true,
  runProjectId: true,
  runStartTime: true,
};

/** Arguments of {@link Feedbacks.update}. A field that is left out keeps its value. */
export interface UpdateFeedback extends FeedbackFields, CallOptions {}

/** Filters of {@link Feedbacks.list}. Feedback is listed if it matches all of them. */
export interface ListFeedback extends CallOptions {
  readonly runIds?: readonly string[] | undefined;
  readonly projectIds?: readonly string[] | undefined;
  readonly keys?: readonly string[] | undefined;
  readonly sourceTypes?: readonly FeedbackSourceType[] | undefined;
  /** Whether the feedback is on a run or on a project. @defaultValue both */
  readonly level?: "run" | "project" | undefined;
  readonly hasScore?: boolean | undefined;
  readonly hasComment?: boolean | undefined;
  readonly comparativeExperimentId?: string | undefined;
  /** Only feedback created at or after this time. */
  readonly minCreatedAt?: Date | string | undefined;
  /** Only feedback created at or before this time. */
  readonly maxCreatedAt?: Date | string | undefined;
  /** Maximum number of feedback entries, at least 1. @defaultValue no limit */
  readonly limit?: number | undefined;
}

/** Options of a feedback token. */
export interface TokenOptions {
  /** When the token expires. @defaultValue 3 hours from now */
  readonly expiration?: Expiration | undefined;
  /** Type and range of the scores that feedback with this key can have. */
  readonly feedbackConfig?: FeedbackConfig | undefined;
}

/** Options of {@link Feedbacks.createToken}. */
export interface CreateFeedbackToken extends TokenOptions, CallOptions {}

/** Describes a token that {@link Feedbacks.createTokens} should create. */
export interface FeedbackTokenRequest extends TokenOptions {
  readonly runId: string;
  readonly feedbackKey: string;
}

/** Checks that either a run or a project is given. The messages are the same as in LangSmith's client. */
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
    throw new ValidationError("The key of feedback must be a non-empty string");
  }
}

/**
 * Converts feedback to its wire form, and generates its id if it has none.
 *
 * @throws {@link ValidationError} if not exactly one of run and project is given, or an id is not a UUID.
 */
export function toWireFeedback(feedback: CreateFeedback): Readonly<Record<string, unknown>> {
  assertTarget(feedback);
  assertKey(feedback.key);
  const { runId = null, projectId, runProjectId, comparativeExperimentId } = feedback;
  return omitUndefined({
    id: validateId(feedback.id, "feedback id") ?? randomUUID(),
    run_id: runId,
    key: feedback.key,
    ...toWireFields(feedback),
    // The configuration is sent under both names: LangSmith's client sends `feedbackConfig`, and the schema of
    // LangSmith's server has `feedback_config`.
    feedbackConfig: feedback.feedbackConfig,
    feedback_source: buildSource(feedback),
    error: feedback.error,
    created_at: toIsoTime(feedback.createdAt, "createdAt"),
    comparative_experiment_id: validateId(comparativeExperimentId, "comparative experiment id"),
    session_id: projectId ?? validateId(runProjectId, "project id of the run"),
    trace_id: validateId(feedback.traceId, "trace id"),
    start_time: toIsoTime(feedback.runStartTime, "runStartTime"),
  });
}

/** Converts the content of feedback to the wire format. @throws {@link ValidationError} if a value is invalid. */
export function toWireFields(fields: FeedbackFields): Readonly<Record<string, unknown>> {
  const { score, value, correction, comment, feedbackConfig } = fields;
  assertScore(score);
  return { score, value, correction, comment, feedback_config: feedbackConfig };
}

/**
 * Refuses numbers that are not finite, because `JSON.stringify` would turn them into null, which means no score. The
 * error message does not quote a text that was passed as the score: it could be a comment with private data.
 */
function assertScore(score: unknown): void {
  const isNumber = typeof score === "number";
  if (
    (isNumber && Number.isFinite(score)) ||
    typeof score === "boolean" ||
    (score ?? null) === null
  ) {
    return;
  }
  const given = isNumber ? String(score) : `a value of type ${typeof score}`;
  throw new ValidationError(
    `score must be a finite number, a boolean or null, not ${given}. Convert a text with Number(score), or pass it as \`value\``,
  );
}

function buildSource(feedback: CreateFeedback): Readonly<Record<string, unknown>> {
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

/**
 * Converts a filter to query parameters, without the ids of runs and projects. This function only validates these ids;
 * `Feedbacks.list` sends them, in several requests if there are many.
 */
export function toWireFilter(filter: ListFeedback) {
  validateIds(filter.runIds, "run id");
  validateIds(filter.projectIds, "project id");
  return {
    key: filter.keys,
    source: filter.sourceTypes,
    level: filter.level === "project" ? "session" : filter.level,
    has_score: filter.hasScore,
    has_comment: filter.hasComment,
    comparative_experiment_id: validateId(
      filter.comparativeExperimentId,
      "comparative experiment id",
    ),
    min_created_at: toIsoTime(filter.minCreatedAt, "minCreatedAt"),
    max_created_at: toIsoTime(filter.maxCreatedAt, "maxCreatedAt"),
  };
}

/** Converts the request for a feedback token to the wire format. @throws {@link ValidationError} if it is invalid. */
export function toWireTokenRequest(
  request: FeedbackTokenRequest,
): Readonly<Record<string, unknown>> {
  const { runId, feedbackKey, feedbackConfig, expiration } = request;
  assertUuid(runId, "run id");
  assertKey(feedbackKey);
  return omitUndefined({
    run_id: runId,
    feedback_key: feedbackKey,
    feedback_config: feedbackConfig,
    ...toWireExpiry(expiration),
  });
}
