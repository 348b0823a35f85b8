import { isId } from "./is-id.ts";
import { parseTraceSearch } from "./trace-search.ts";
import type { TraceSearch } from "./trace-search.ts";

/** What the address of a project's page selects. */
export interface RunsSearch extends TraceSearch {
  /** The trace that is open. */
  readonly trace?: string;
  /** The run selected in it. @defaultValue its root */
  readonly run?: string;
}

/** Reads the query of an address; what is no id is left out. */
export function parseRunsSearch(search: Readonly<Record<string, unknown>>): RunsSearch {
  const { trace, run } = search;
  return {
    ...(isId(trace) ? { trace } : {}),
    ...(isId(trace) && isId(run) ? { run } : {}),
    ...(isId(trace) ? parseTraceSearch(search) : {}),
  };
}
