import { validateIds } from "../../model/ids.ts";
import { toVersion } from "./dataset-key.ts";
import type { FilterExamples, ListExamples } from "./example-options.ts";
import { toJson } from "../http/request.ts";
import type { QueryValue } from "../http/request.ts";

/**
 * Names of all members of an example. They are requested with `select`, because a server leaves out attachments
 * otherwise.
 */
export const exampleMembers: readonly string[] = [
  "id",
  "created_at",
  "modified_at",
  "name",
  "dataset_id",
  "source_run_id",
  "metadata",
  "inputs",
  "outputs",
  "attachment_urls",
];

/**
 * Converts a filter to query parameters, except the dataset, the ids and the page.
 *
 * @throws {@link ValidationError} if an id is not a UUID, or `asOf` is not a version.
 */
export function toExampleQuery(filter: ListExamples): Readonly<Record<string, QueryValue>> {
  validateIds(filter.ids, "example id");
  return {
    as_of: toVersion(filter.asOf, "asOf"),
    splits: filter.splits,
    metadata: filter.metadata && toJson("list examples", filter.metadata),
    filter: filter.filter,
    select: filter.includeAttachments === true ? exampleMembers : undefined,
  };
}

/**
 * Whether the filter selects nothing, because its list of ids or splits is empty. In a query string, an empty list
 * would not filter at all.
 */
export const isEmptyFilter = ({ ids, splits }: FilterExamples): boolean =>
  ids?.length === 0 || splits?.length === 0;
