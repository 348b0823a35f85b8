/** A page of a trace as the server sends it: see `readTrace` of the server's page calls. */
export interface TraceColumns {
  readonly count: number;
  /** What changes later is asked for with it. */
  readonly mark: number;
  /** Where the next page begins. */
  readonly next: string | undefined;
  readonly baseMicros: number;
  /** One behind the other, 36 characters each. */
  readonly ids: string;
  /** Places in this page, or, counted on from there, in `far`; -1: none. */
  readonly parents: readonly number[];
  /** Ids of parents beyond the page, as `ids`. */
  readonly far: string;
  readonly name: readonly number[];
  readonly names: readonly string[];
  readonly type: readonly number[];
  readonly types: readonly string[];
  readonly start: readonly number[];
  readonly end: readonly (number | null)[];
  readonly errors: readonly number[];
  readonly tokens: Readonly<Record<number, number>>;
  readonly cost: Readonly<Record<number, number>>;
  readonly firstToken: Readonly<Record<number, number>>;
}

export const idLength = 36;

/** @throws TypeError the server answered something else. */
export function parseTraceColumns(value: unknown): TraceColumns {
  const { first_token, base_us, next, ...rest } = value as Record<string, unknown>;
  const columns = { ...rest, firstToken: first_token, baseMicros: base_us } as unknown as Omit<
    TraceColumns,
    "next"
  >;
  const { count, far, ids, parents, name, type, start, end } = columns;
  const isWhole =
    typeof far === "string" &&
    typeof ids === "string" &&
    ids.length === count * idLength &&
    [parents, name, type, start, end].every(
      (column) => Array.isArray(column) && column.length === count,
    );
  if (!isWhole) {
    throw new TypeError("the server's answer is no page of a trace");
  }
  return { ...columns, next: typeof next === "string" ? next : undefined };
}
