import { isId } from "../../api/parse.ts";
import { parseListSearch } from "../runs/run-list-search.ts";
import type { RunListSearch } from "../runs/run-list-search.ts";
import { parseTraceSearch } from "./trace-search.ts";
import type { TraceSearch } from "./trace-search.ts";

/** What the address of a project's page selects: a trace, or what its list shows. */
export interface RunsSearch extends TraceSearch, RunListSearch {
  /** The trace that is open. */
  readonly trace?: string;
  /** The run selected in it. @defaultValue its root */
  readonly run?: string;
}

/** Reads the query of an address; what is no id is left out. The list is kept while a trace is open. */
export function parseRunsSearch(search: Readonly<Record<string, unknown>>): RunsSearch {
  const { trace, run } = search;
  return {
    ...parseListSearch(search),
    ...(isId(trace) ? { trace } : {}),
    ...(isId(trace) && isId(run) ? { run } : {}),
    ...(isId(trace) ? parseTraceSearch(search) : {}),
  };
}
