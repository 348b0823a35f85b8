/**
 * Metadata keys that contain the id of the conversation (thread) to which a run belongs. If a run has several of these
 * keys, the first one in this list is used. Integrations of Langfuse set the last one.
 */
export const threadKeys = [
  "session_id",
  "thread_id",
  "conversation_id",
  "langfuse_session_id",
] as const;

/** Metadata keys that contain the id of the end user whom a run serves. Integrations of Langfuse set the last one. */
export const userKeys = ["user_id", "langfuse_user_id"] as const;
