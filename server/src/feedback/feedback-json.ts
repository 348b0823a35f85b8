import type { Feedback, FeedbackToken } from "./feedback.ts";
import type { FeedbackJson, FeedbackTokenJson } from "./feedback-schemas.ts";
import { toIso } from "../http/wire-text.ts";

export const toFeedbackJson = (feedback: Feedback): FeedbackJson => ({
  id: feedback.id,
  key: feedback.key,
  run_id: feedback.runId,
  session_id: feedback.projectId,
  trace_id: feedback.run?.traceId ?? null,
  start_time: feedback.run === null ? null : toIso(feedback.run.startMicros),
  is_root: feedback.run?.isRoot ?? false,
  score: feedback.score,
  value: feedback.value,
  comment: feedback.comment,
  correction: feedback.correction,
  feedback_source: {
    type: feedback.sourceType,
    metadata: feedback.sourceMetadata,
    user_id: null,
    user_name: null,
  },
  feedback_config: feedback.config,
  comparative_experiment_id: feedback.comparativeId,
  feedback_group_id: null,
  feedback_thread_id: null,
  extra: feedback.extra,
  created_at: toIso(feedback.createdMicros),
  modified_at: toIso(feedback.modifiedMicros),
});

/** Serializes a token. `origin` is the base URL that the client used to reach the server. */
export const toTokenJson = (
  { id, token, key, expiresMicros }: FeedbackToken,
  origin: string,
): FeedbackTokenJson => ({
  id,
  url: `${origin}/feedback/tokens/${token}`,
  expires_at: toIso(expiresMicros),
  feedback_key: key,
});
