import { checkIds } from "../../model/ids.ts";
import { toVersion } from "./dataset-key.ts";
import type { FilterExamples, ListExamples } from "./example-options.ts";
import { toJson } from "../http/request.ts";
import type { QueryValue } from "../http/request.ts";

/** What each example has; left out, a server gives all but the attachments. */
export const allMembers: readonly string[] = [
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
 * The members of a filter, except dataset, ids and page.
 *
 * @throws {@link ValidationError} an id is not a UUID, or `asOf` no version.
 */
export function toExampleQuery(filter: ListExamples): Readonly<Record<string, QueryValue>> {
  checkIds(filter.ids, "example id");
  return {
    as_of: toVersion(filter.asOf, "asOf"),
    splits: filter.splits,
    metadata: filter.metadata && toJson("list examples", filter.metadata),
    filter: filter.filter,
    select: filter.includeAttachments === true ? allMembers : undefined,
  };
}

/** Whether it is of no ids or no splits: as a query that would be no filter at all. */
export const isEmptyFilter = ({ ids, splits }: FilterExamples): boolean =>
  ids?.length === 0 || splits?.length === 0;
