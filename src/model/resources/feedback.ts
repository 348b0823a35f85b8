import { Fields, omitUndefined } from "../fields.ts";
import type { KeyValues } from "../run.ts";

/**
 * Where feedback comes from: an API call, a model, a person in the UI, or an automatic evaluator.
 * Servers may have other types.
 */
export type FeedbackSourceType = "api" | "model" | "app" | "auto_eval";

/** The source of a feedback entry. */
export interface FeedbackSource {
  readonly type?: string | undefined;
  /** Free-form metadata. Its member `__run: { run_id }` refers to the run of the evaluator. */
  readonly metadata: KeyValues;
}

/** Meaning of the scores of a feedback key. */
export interface FeedbackConfig {
  readonly type: "continuous" | "categorical" | "freeform";
  readonly min?: number | null | undefined;
  readonly max?: number | null | undefined;
  readonly categories?:
    | readonly { readonly value: number; readonly label?: string | null | undefined }[]
    | null
    | undefined;
}

/** Feedback on a run or a project: a key with a score, a value, a comment or a correction. */
export interface Feedback {
  readonly id: string;
  readonly key: string;
  /** Id of the run that the feedback is about; absent for feedback on a project. */
  readonly runId?: string | undefined;
  /**
   * The project that the feedback is about, or the project of the run, if the server reports it.
   */
  readonly projectId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly score?: number | boolean | undefined;
  /** The feedback's value: any JSON value. */
  readonly value?: unknown;
  readonly comment?: string | undefined;
  /** The output that would have been correct. */
  readonly correction?: KeyValues | string | undefined;
  readonly source: FeedbackSource;
  readonly comparativeExperimentId?: string | undefined;
  /** The configuration that was submitted with the feedback. Not every server returns it. */
  readonly feedbackConfig?: FeedbackConfig | undefined;
  /** A time in ISO 8601 format. */
  readonly createdAt?: string | undefined;
  /** A time in ISO 8601 format. */
  readonly modifiedAt?: string | undefined;
}

/**
 * A feedback token, as the API calls it: a URL with which anyone can give feedback on one run, until the URL expires.
 */
export interface FeedbackToken {
  readonly id: string;
  /**
   * Accepts GET with `score`, `value`, `comment`, `correction` as query parameters, or POST with them as JSON. Needs no
   * API key.
   */
  readonly url: string;
  /** A time in ISO 8601 format. */
  readonly expiresAt: string;
  readonly feedbackKey: string;
}

/** @throws {@link ResponseError} if `value` is not feedback. */
export function parseFeedback(value: unknown): Feedback {
  const fields = new Fields(value, "feedback");
  const source = new Fields(fields.readObject("feedback_source"), "source of feedback");
  const score = fields.readValue("score");
  const correction = fields.readValue("correction");
  return omitUndefined({
    id: fields.readText("id"),
    key: fields.readText("key"),
    runId: fields.readOptionalText("run_id"),
    projectId: fields.readOptionalText("session_id"),
    traceId: fields.readOptionalText("trace_id"),
    score: typeof score === "number" || typeof score === "boolean" ? score : undefined,
    value: fields.readValue("value") ?? undefined,
    comment: fields.readOptionalText("comment"),
    correction: typeof correction === "string" ? correction : readObject(fields, "correction"),
    source: omitUndefined({
      type: source.readOptionalText("type"),
      metadata: source.readObject("metadata"),
    }),
    comparativeExperimentId: fields.readOptionalText("comparative_experiment_id"),
    feedbackConfig: readObject(fields, "feedback_config") as FeedbackConfig | undefined,
    createdAt: fields.readOptionalText("created_at"),
    modifiedAt: fields.readOptionalText("modified_at"),
  });
}

/** @throws {@link ResponseError} if `value` is not a feedback token. */
export function parseFeedbackToken(value: unknown): FeedbackToken {
  const fields = new Fields(value, "feedback token");
  return {
    id: fields.readText("id"),
    url: fields.readText("url"),
    expiresAt: fields.readText("expires_at"),
    feedbackKey: fields.readText("feedback_key"),
  };
}

/** Reads an object; `undefined` if the server sent none. */
const readObject = (fields: Fields, name: string): KeyValues | undefined =>
  typeof fields.readValue(name) === "object" && fields.readValue(name) !== null
    ? fields.readObject(name)
    : undefined;
