/** What the address of a project's page selects. */
export interface RunsSearch {
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
  };
}

const isId = (value: unknown): value is string =>
  typeof value === "string" && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value);
