import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { projectSorts } from "./project.ts";
import type { ProjectQuery } from "./project.ts";
import {
  firstValue,
  parseCount,
  parseIds,
  parseMetadata,
  parseBoolean,
} from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/**
 * Parses the query string of a list of projects.
 *
 * @throws RequestError 422: a parameter has an invalid value.
 */
export function parseProjectQuery(query: QueryString): ProjectQuery {
  const parsed = {
    name: firstValue(query, "name"),
    nameContains: firstValue(query, "name_contains"),
    ids: parseIds(query, "id"),
    referenceDatasetIds: parseIds(query, "reference_dataset"),
    isReferenceFree: parseBoolean(query, "reference_free"),
    metadata: parseMetadata(query),
    ...parseOrder(query),
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

/**
 * Parses the sort order. As in the LangSmith API, passing `sort_by` without `sort_by_desc` sorts in descending order.
 */
function parseOrder(query: QueryString): Pick<ProjectQuery, "sortBy" | "isDescending"> {
  const text = firstValue(query, "sort_by");
  const isDescending = parseBoolean(query, "sort_by_desc") ?? text !== undefined;
  if (text === undefined) {
    return { isDescending };
  }
  const sortBy = projectSorts.find((column) => column === text);
  if (sortBy === undefined) {
    const quoted = JSON.stringify(text.slice(0, 64));
    throw new RequestError(422, `sort_by must be one of ${projectSorts.join(", ")}, not ${quoted}`);
  }
  return { sortBy, isDescending };
}
