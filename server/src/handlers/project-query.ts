import { serverLimits } from "../options.ts";
import type { ProjectQuery } from "../store/project.ts";
import { first, parseCount, parseIds, parseMetadata, parseSwitch } from "./query-string.ts";
import type { QueryString } from "./query-string.ts";

/** @throws RequestError 422: a value is not what its filter takes. */
export function parseProjectQuery(query: QueryString): ProjectQuery {
  const parsed = {
    name: first(query, "name"),
    nameContains: first(query, "name_contains"),
    ids: parseIds(query, "id"),
    referenceDatasetIds: parseIds(query, "reference_dataset"),
    isReferenceFree: parseSwitch(query, "reference_free"),
    metadata: parseMetadata(query),
  };
  return {
    ...Object.fromEntries(Object.entries(parsed).filter(([, value]) => value !== undefined)),
    limit: parseCount(query, "limit", {
      fallback: serverLimits.projectsDefault,
      max: serverLimits.projectsMax,
    }),
    offset: parseCount(query, "offset", { fallback: 0, max: Number.MAX_SAFE_INTEGER }),
  };
}
