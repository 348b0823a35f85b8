/** A page of a trace's runs, as columns: a line of the response of `GET /ui/traces/:id`. */
export interface TraceColumns {
  readonly count: number;
  /**
   * Identifies the latest change in the response. A request with `since=<mark>` returns only runs that changed later.
   */
  readonly mark: number;
  /** The id of the last run if more follow; `undefined` on the last page. */
  readonly next: string | undefined;
  /** Microseconds since the Unix epoch. Times in `start`, `end` and `firstToken` count from here. */
  readonly baseMicros: number;
  /** The ids of the runs, concatenated, 36 characters each. */
  readonly ids: string;
  /**
   * The index of each run's parent. An index below `count` is a position in `ids`. For an index of at least `count`,
   * the index minus `count` is a position in `far`. -1 means that the run has no parent.
   */
  readonly parents: readonly number[];
  /** The ids of parents that are not on this page, concatenated like `ids`. */
  readonly far: string;
  /** For each run, the index of its name in `names`. `type` contains indexes into `types`. */
  readonly name: readonly number[];
  readonly names: readonly string[];
  readonly type: readonly number[];
  readonly types: readonly string[];
  readonly start: readonly number[];
  /** `null` for a run that has not ended. */
  readonly end: readonly (number | null)[];
  /** Indexes of the failed runs. */
  readonly errors: readonly number[];
  /** The index in `models` of the model that a run called, by the run's index in this page. */
  readonly model: Readonly<Record<number, number>>;
  readonly models: readonly string[];
  /** Number of tokens by the run's index in this page. The costs and `firstToken` are also keyed by this index. */
  readonly tokens: Readonly<Record<number, number>>;
  readonly cost: Readonly<Record<number, number>>;
  readonly promptCost: Readonly<Record<number, number>>;
  readonly completionCost: Readonly<Record<number, number>>;
  readonly firstToken: Readonly<Record<number, number>>;
}

export const idLength = 36;

/** @throws TypeError the response is not a page of a trace. */
export function parseTraceColumns(value: unknown): TraceColumns {
  const { first_token, prompt_cost, completion_cost, base_us, next, ...others } = value as Record<
    string,
    unknown
  >;
  const columns = {
    ...others,
    promptCost: prompt_cost,
    completionCost: completion_cost,
    firstToken: first_token,
    baseMicros: base_us,
  } as unknown as Omit<TraceColumns, "next">;
  const { count, far, ids, parents, name, type, start, end } = columns;
  const hasValidColumns =
    typeof far === "string" &&
    typeof ids === "string" &&
    ids.length === count * idLength &&
    [parents, name, type, start, end].every(
      (column) => Array.isArray(column) && column.length === count,
    );
  if (!hasValidColumns) {
    throw new TypeError("The response is not a page of a trace.");
  }
  return { ...columns, next: typeof next === "string" ? next : undefined };
}
