import type { TraceRunDetails } from "../queries.ts";

/**
 * Maximum length of a thread's id, in characters. The server reports a longer id of a run, but there is no thread with
 * it: the server finds the runs of a thread in an index that does not contain longer texts.
 */
const maxThreadIdChars = 200;

/** Returns the id of the thread that a run belongs to; `undefined` if it belongs to none, or was not read yet. */
export function findThreadId(
  run: Pick<TraceRunDetails, "threadId"> | undefined,
): string | undefined {
  const id = run?.threadId ?? "";
  return id !== "" && id.length <= maxThreadIdChars ? id : undefined;
}
