import { toSearchText } from "../../api/parse.ts";
import { parseSortSearch } from "../../components/table/sort-search.ts";
import type { SortSearch } from "../../components/table/sort-search.ts";

/** Maximum number of characters of a thread's id in a URL. The server accepts ids of the same length in requests. */
const maxIdChars = 4_000;

/** Search parameters in the URL of the list of threads. */
export interface ThreadsSearch extends SortSearch {
  /** Text that the ids of the threads must contain. */
  readonly q?: string;
}

export function parseThreadsSearch(search: Readonly<Record<string, unknown>>): ThreadsSearch {
  const text = toSearchText(search["q"])?.slice(0, maxIdChars);
  return { ...parseSortSearch(search), ...(text === undefined ? {} : { q: text }) };
}

/**
 * Search parameters in the URL of one thread. The id is not a part of the path, because a browser would change an id
 * such as `..` there.
 */
export interface ThreadSearch {
  readonly id?: string;
}

export function parseThreadSearch({ id }: Readonly<Record<string, unknown>>): ThreadSearch {
  const text = toSearchText(id)?.slice(0, maxIdChars);
  return text === undefined ? {} : { id: text };
}
