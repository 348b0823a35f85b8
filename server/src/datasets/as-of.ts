import { RequestError } from "../model/errors.ts";
import { parseTimeBound } from "../model/parse-time.ts";
import { latestTag } from "./dataset-version.ts";
import type { AsOf, VersionTime } from "./dataset-version.ts";
import type { DatasetStore } from "./dataset-store.ts";
import { firstValue } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/**
 * Parses a reference to a version. Text in the form of a date or a time is a time; any other text is a tag. The `+` of
 * a time zone offset arrives as a space if the client did not URL-encode it.
 */
export function parseAsOf(text: string): AsOf {
  const timeText = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  const micros =
    parseTimeBound(timeText) ?? parseTimeBound(timeText.replace(/ (?=\d\d:?\d\d$)/, "+"));
  return micros === undefined ? { kind: "tag", tag: text } : { kind: "time", micros };
}

/** Reads a reference to a version from a query parameter; `undefined` means the newest version. */
export function readAsOf(query: QueryString, name = "as_of"): AsOf | undefined {
  const text = firstValue(query, name) ?? "";
  return text === "" || text === latestTag ? undefined : parseAsOf(text);
}

/**
 * Returns the time of the version that a request refers to; `null` for the newest version.
 *
 * @throws RequestError 404: no version has the tag.
 */
export async function findVersionTime(
  store: DatasetStore,
  { tenantId, id }: { readonly tenantId: string; readonly id: string },
  asOf: AsOf | undefined,
): Promise<VersionTime> {
  if (asOf === undefined) {
    return null;
  }
  if (asOf.kind === "time") {
    return asOf.micros;
  }
  const version = await store.read.datasets.findVersion(tenantId, id, asOf);
  if (version === undefined) {
    throw new RequestError(
      404,
      `Dataset version not found: no version has the tag ${JSON.stringify(asOf.tag)}`,
    );
  }
  return version.micros;
}
