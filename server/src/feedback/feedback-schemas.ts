import { Type } from "typebox";
import type { Static } from "typebox";
import {
  Amount,
  AnyObject,
  Anything,
  Flag,
  Id,
  IdOrNull,
  IsoTime,
  List,
  Nothing,
  Nullable,
  ObjectOrNull,
  Text,
  TextOrNull,
  TimeOrNull,
} from "../http/schema-parts.ts";

/** Feedback in a response. */
export const feedbackSchema = Type.Object(
  {
    id: Id,
    key: Text,
    run_id: IdOrNull,
    session_id: IdOrNull,
    trace_id: IdOrNull,
    start_time: TimeOrNull,
    is_root: Flag,
    score: Nullable(Type.Union([Amount, Flag])),
    value: Anything,
    comment: TextOrNull,
    correction: Nullable(Type.Union([AnyObject, Text])),
    feedback_source: Type.Object({
      type: Text,
      metadata: ObjectOrNull,
      user_id: Nothing,
      user_name: Nothing,
    }),
    feedback_config: ObjectOrNull,
    comparative_experiment_id: IdOrNull,
    feedback_group_id: Nothing,
    feedback_thread_id: Nothing,
    extra: ObjectOrNull,
    created_at: IsoTime,
    modified_at: IsoTime,
  },
  { title: "Feedback" },
);

export type FeedbackJson = Static<typeof feedbackSchema>;
/** The response body of requests that list feedback. */
export const feedbackListSchema = List(feedbackSchema);

/** A link with which feedback on one run can be given without an API key. */
export const feedbackTokenSchema = Type.Object(
  { id: Id, url: Text, expires_at: IsoTime, feedback_key: Text },
  { title: "FeedbackToken" },
);

export type FeedbackTokenJson = Static<typeof feedbackTokenSchema>;
/** The response body of requests that create or list several of these links. */
export const feedbackTokensSchema = List(feedbackTokenSchema);

/** One token, or a list of tokens if the request contained a list. */
export const createdTokensSchema = Type.Union([feedbackTokenSchema, feedbackTokensSchema]);

/** The id of the feedback that was submitted with a token. */
export const submittedFeedbackSchema = Type.Object({ id: Id });
