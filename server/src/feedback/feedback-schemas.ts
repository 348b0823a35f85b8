import { Type } from "typebox";
import type { Static } from "typebox";
import { AnyObject, Id, IsoTime, List, Nullable } from "../http/schema-parts.ts";

export const feedbackSchema = Type.Object(
  {
    id: Id,
    key: Type.String(),
    run_id: Nullable(Id),
    session_id: Nullable(Id),
    trace_id: Nullable(Id),
    start_time: Nullable(IsoTime),
    is_root: Type.Boolean(),
    score: Nullable(Type.Union([Type.Number(), Type.Boolean()])),
    value: Type.Unknown(),
    comment: Nullable(Type.String()),
    correction: Nullable(Type.Union([AnyObject, Type.String()])),
    feedback_source: Type.Object({
      type: Type.String(),
      metadata: Nullable(AnyObject),
      user_id: Type.Null(),
      user_name: Type.Null(),
    }),
    feedback_config: Nullable(AnyObject),
    comparative_experiment_id: Nullable(Id),
    feedback_group_id: Type.Null(),
    feedback_thread_id: Type.Null(),
    extra: Nullable(AnyObject),
    created_at: IsoTime,
    modified_at: IsoTime,
  },
  { title: "Feedback" },
);

export type FeedbackJson = Static<typeof feedbackSchema>;
export const feedbackListSchema = List(feedbackSchema);

export const feedbackTokenSchema = Type.Object(
  { id: Id, url: Type.String(), expires_at: IsoTime, feedback_key: Type.String() },
  { title: "FeedbackToken" },
);

export type FeedbackTokenJson = Static<typeof feedbackTokenSchema>;
export const feedbackTokensSchema = List(feedbackTokenSchema);

/** One token, or a list of them if the request contained a list. */
export const createdTokensSchema = Type.Union([feedbackTokenSchema, feedbackTokensSchema]);

/** The id of the feedback that was submitted with a token. */
export const submittedFeedbackSchema = Type.Object({ id: Id });
