import { threadKeys } from "../run-filter-source.ts";

/** Most runs belong to no conversation. This detects that without parsing their extra. */
const mentions = threadKeys.map((key) => Buffer.from(`"${key}"`));

/** The conversation that a run's metadata say it is of; `null` where they name none. */
export function readThreadId(members: ReadonlyMap<string, Buffer>): string | null {
  const json = members.get("extra");
  if (json === undefined || !mentions.some((key) => json.includes(key))) {
    return null;
  }
  const extra: unknown = JSON.parse(json.toString("utf8"));
  const metadata = isRecord(extra) ? extra["metadata"] : undefined;
  if (!isRecord(metadata)) {
    return null;
  }
  const named = threadKeys
    .filter((key) => Object.hasOwn(metadata, key))
    .map((key) => metadata[key])
    .find((value) => typeof value === "string");
  return named ?? null;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
