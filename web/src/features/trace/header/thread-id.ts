/** The members of the metadata that name a thread. If a run has several, the server uses the first one. */
const threadKeys = ["session_id", "thread_id", "conversation_id", "langfuse_session_id"] as const;
/** The server ignores a thread id that is longer. */
const maxThreadIdChars = 200;

/** The id of the thread that a root's metadata names. */
export function findThreadId(metadata: unknown): string | undefined {
  if (typeof metadata !== "object" || metadata === null) {
    return undefined;
  }
  const ids = threadKeys.map((key) => (metadata as Readonly<Record<string, unknown>>)[key]);
  return ids.find(
    (id): id is string => typeof id === "string" && id !== "" && id.length <= maxThreadIdChars,
  );
}
