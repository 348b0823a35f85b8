import { growTrace } from "../../src/features/trace/trace-model.ts";
import type { TraceModel } from "../../src/features/trace/trace-model.ts";
import type { TraceColumns } from "../../src/features/trace/trace-columns.ts";

/** A short form of a run for tests. Times are in microseconds. */
export interface Item {
  readonly id: number;
  readonly parent?: number;
  readonly start?: number;
  readonly end?: number | null;
  readonly type?: string;
  readonly name?: string;
  readonly failed?: boolean;
  readonly tokens?: number;
  readonly promptCost?: number;
  readonly completionCost?: number;
}

export const idOf = (id: number): string =>
  `00000000-0000-4000-8000-${String(id).padStart(12, "0")}`;

/** The server's response for these runs. */
export function toColumns(items: readonly Item[], baseMicros = 0): TraceColumns {
  const indexes = new Map(items.map(({ id }, index) => [id, index]));
  const far = items.flatMap(({ parent }) =>
    parent === undefined || indexes.has(parent) ? [] : [parent],
  );
  const indexOf = (parent: number): number =>
    indexes.get(parent) ?? items.length + far.indexOf(parent);
  return {
    count: items.length,
    mark: 1,
    next: undefined,
    baseMicros,
    ids: items.map(({ id }) => idOf(id)).join(""),
    parents: items.map(({ parent }) => (parent === undefined ? -1 : indexOf(parent))),
    far: far.map(idOf).join(""),
    name: items.map((_, index) => index),
    names: items.map(({ name, id }) => name ?? `run ${id}`),
    type: items.map((_, index) => index),
    types: items.map(({ type }) => type ?? "chain"),
    start: items.map(({ start }) => start ?? 0),
    end: items.map(({ start, end }) => (end === undefined ? (start ?? 0) + 10 : end)),
    errors: items.flatMap(({ failed }, index) => (failed === true ? [index] : [])),
    model: {},
    models: [],
    tokens: toSparse(items, ({ tokens }) => tokens),
    cost: toSparse(items, ({ promptCost, completionCost }) =>
      promptCost === undefined ? undefined : promptCost + (completionCost ?? 0),
    ),
    promptCost: toSparse(items, ({ promptCost }) => promptCost),
    completionCost: toSparse(items, ({ completionCost }) => completionCost),
    firstToken: {},
  };
}

const toSparse = (
  items: readonly Item[],
  read: (item: Item) => number | undefined,
): Readonly<Record<number, number>> =>
  Object.fromEntries(
    items.flatMap((item, index) => {
      const value = read(item);
      return value === undefined ? [] : [[index, value]];
    }),
  );

export const modelOf = (items: readonly Item[]): TraceModel =>
  growTrace(undefined, [toColumns(items)]);

/** The numeric ids, as in {@link Item}, of runs given by index. */
export const numbersOf = (model: TraceModel, runs: Iterable<number>): number[] =>
  [...runs].map((run) => Number(model.ids[run]?.slice(-12)));
