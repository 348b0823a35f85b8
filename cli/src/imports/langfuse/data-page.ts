import type { KeyValues } from "millrace/model";
import { toObject, toObjects } from "../model/json-values.ts";
import type { PageRange } from "../source/pages.ts";
import type { Query, SourceClient } from "../source/source-client.ts";

/** Reads a page of a list from Langfuse's API, which numbers pages from 1 and returns the rows as `data`. */
export async function readDataPage(
  client: SourceClient,
  path: string,
  { offset, limit, ...query }: PageRange & Query,
): Promise<readonly KeyValues[]> {
  const response = await client.get(path, { ...query, page: offset / limit + 1, limit });
  return toObjects(toObject(response)["data"]);
}
