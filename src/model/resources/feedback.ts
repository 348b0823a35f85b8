import { Fields, definedOf } from "../fields.ts";
import type { KeyValues } from "../run.ts";

/** Who judged: an API call, a model, a person in the app, an automatic evaluator. Servers may have more. */
export type FeedbackSourceType = "api" | "model" | "app" | "auto_eval";

/** Where a judgement came from (specification, section 3). */
export interface FeedbackSource {
  readonly type?: string | undefined;
  /** `__run: { run_id }` names the run that judged. */
  readonly metadata: KeyValues;
}

/** What the scores of a key mean. */
export interface FeedbackConfig {
  readonly type: "continuous" | "categorical" | "freeform";
  readonly min?: number | null | undefined;
  readonly max?: number | null | undefined;
  readonly categories?:
    | readonly { readonly value: number; readonly label?: string | null | undefined }[]
    | null
    | undefined;
}

/** A judgement on a run or a project: a key with a score, a value, a comment or a correction. */
export interface Feedback {
  readonly id: string;
  readonly key: string;
  /** Absent where it is on a project. */
  readonly runId?: string | undefined;
  /** The project judged, or that of the run, where the server reports it. */
  readonly projectId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly score?: number | boolean | undefined;
  /** Any JSON. */
  readonly value?: unknown;
  readonly comment?: string | undefined;
  /** What would have been right. */
  readonly correction?: KeyValues | string | undefined;
  readonly source: FeedbackSource;
  readonly comparativeExperimentId?: string | undefined;
  /** As it was given; not every server answers it. */
  readonly feedbackConfig?: FeedbackConfig | undefined;
  /** ISO 8601. */
  readonly createdAt?: string | undefined;
  /** ISO 8601. */
  readonly modifiedAt?: string | undefined;
}

/** An address under which anyone may give feedback on one run until it expires. */
export interface FeedbackToken {
  readonly id: string;
  /** GET with `score`, `value`, `comment`, `correction` as a query, or POST with them as JSON. Needs no key. */
  readonly url: string;
  /** ISO 8601. */
  readonly expiresAt: string;
  readonly feedbackKey: string;
}

/** @throws {@link ResponseError} it is no feedback. */
export function parseFeedback(value: unknown): Feedback {
  const fields = new Fields(value, "feedback");
  const source = new Fields(fields.object("feedback_source"), "source of feedback");
  const score = fields.value("score");
  const correction = fields.value("correction");
  return definedOf({
    id: fields.text("id"),
    key: fields.text("key"),
    runId: fields.optionalText("run_id"),
    projectId: fields.optionalText("session_id"),
    traceId: fields.optionalText("trace_id"),
    score: typeof score === "number" || typeof score === "boolean" ? score : undefined,
    value: fields.value("value") ?? undefined,
    comment: fields.optionalText("comment"),
    correction: typeof correction === "string" ? correction : objectOf(fields, "correction"),
    source: definedOf({ type: source.optionalText("type"), metadata: source.object("metadata") }),
    comparativeExperimentId: fields.optionalText("comparative_experiment_id"),
    feedbackConfig: objectOf(fields, "feedback_config") as FeedbackConfig | undefined,
    createdAt: fields.optionalText("created_at"),
    modifiedAt: fields.optionalText("modified_at"),
  });
}

/** @throws {@link ResponseError} it is no feedback token. */
export function parseFeedbackToken(value: unknown): FeedbackToken {
  const fields = new Fields(value, "feedback token");
  return {
    id: fields.text("id"),
    url: fields.text("url"),
    expiresAt: fields.text("expires_at"),
    feedbackKey: fields.text("feedback_key"),
  };
}

/** `undefined` where the server sent nothing. */
const objectOf = (fields: Fields, name: string): KeyValues | undefined =>
  typeof fields.value(name) === "object" && fields.value(name) !== null
    ? fields.object(name)
    : undefined;
