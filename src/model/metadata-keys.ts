/**
 * Metadata keys that contain the id of the conversation (thread) to which a run belongs. The first one that a run has
 * counts. Integrations of Langfuse set the last one.
 */
export const threadKeys = [
  "session_id",
  "thread_id",
  "conversation_id",
  "langfuse_session_id",
] as const;

/** Metadata keys that contain the id of the person that a run is for. Integrations of Langfuse set the last one. */
export const userKeys = ["user_id", "langfuse_user_id"] as const;
