import { threadKeys } from "millrace/model";

/**
 * The metadata keys that contain a thread id, in quotes, as bytes. Most runs belong to no thread. Searching `extra` for
 * these bytes detects them without parsing it.
 */
const quotedKeys = threadKeys.map((key) => Buffer.from(`"${key}"`));

/** Returns the id of the thread that a run's metadata contains; `null` if there is none. */
export function readThreadId(members: ReadonlyMap<string, Buffer>): string | null {
  const json = members.get("extra");
  if (json === undefined || !quotedKeys.some((key) => json.includes(key))) {
    return null;
  }
  const extra: unknown = JSON.parse(json.toString("utf8"));
  const metadata = isRecord(extra) ? extra["metadata"] : undefined;
  if (!isRecord(metadata)) {
    return null;
  }
  const threadId = threadKeys
    .filter((key) => Object.hasOwn(metadata, key))
    .map((key) => metadata[key])
    .find((value) => typeof value === "string");
  return threadId ?? null;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
