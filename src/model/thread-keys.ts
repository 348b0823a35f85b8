/** Metadata keys that contain the id of the conversation (thread) to which a run belongs. */
export const threadKeys = ["session_id", "thread_id", "conversation_id"] as const;
