import { isId } from "../../api/parse.ts";
import { parseListSearch } from "../runs/run-list-search.ts";
import type { RunListSearch } from "../runs/run-list-search.ts";
import { parseTraceSearch } from "./trace-search.ts";
import type { TraceSearch } from "./trace-search.ts";

/**
 * The search parameters of a project's URL: the state of the run list and, while a trace is open, the state of that
 * trace.
 */
export interface RunsSearch extends TraceSearch, RunListSearch {
  /** The id of the open trace. */
  readonly trace?: string;
  /** The id of the run selected in the trace. @defaultValue the trace's root */
  readonly run?: string;
}

/**
 * Parses the search parameters of the URL. Invalid ids are left out. The state of the run list is parsed even while a
 * trace is open, so that the user can return to the same list.
 */
export function parseRunsSearch(search: Readonly<Record<string, unknown>>): RunsSearch {
  const { trace, run } = search;
  return {
    ...parseListSearch(search),
    ...(isId(trace) ? { trace } : {}),
    ...(isId(trace) && isId(run) ? { run } : {}),
    ...(isId(trace) ? parseTraceSearch(search) : {}),
  };
}
