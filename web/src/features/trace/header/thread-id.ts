/** The metadata keys that contain the id of a thread. If a run has several of them, the server uses the first one. */
const threadKeys = ["session_id", "thread_id", "conversation_id", "langfuse_session_id"] as const;
/** The server ignores a thread id that is longer. */
const maxThreadIdChars = 200;

/** Finds the id of the thread that the metadata of a root run names; `undefined` if it names none. */
export function findThreadId(metadata: unknown): string | undefined {
  if (typeof metadata !== "object" || metadata === null) {
    return undefined;
  }
  const ids = threadKeys.map((key) => (metadata as Readonly<Record<string, unknown>>)[key]);
  return ids.find(
    (id): id is string => typeof id === "string" && id !== "" && id.length <= maxThreadIdChars,
  );
}
