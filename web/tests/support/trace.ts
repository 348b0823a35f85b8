import { growTrace } from "../../src/features/trace/trace-model.ts";
import type { TraceModel } from "../../src/features/trace/trace-model.ts";
import type { TraceColumns } from "../../src/features/trace/trace-columns.ts";

/** A run of a trace as a test writes it; times are microseconds. */
export interface Item {
  readonly id: number;
  readonly parent?: number;
  readonly start?: number;
  readonly end?: number | null;
  readonly type?: string;
  readonly name?: string;
  readonly failed?: boolean;
}

export const idOf = (id: number): string =>
  `00000000-0000-4000-8000-${String(id).padStart(12, "0")}`;

/** What the server would answer for these runs. */
export function toColumns(items: readonly Item[], baseMicros = 0): TraceColumns {
  const places = new Map(items.map(({ id }, place) => [id, place]));
  const far = items.flatMap(({ parent }) =>
    parent === undefined || places.has(parent) ? [] : [parent],
  );
  const placeOf = (parent: number): number =>
    places.get(parent) ?? items.length + far.indexOf(parent);
  return {
    count: items.length,
    mark: 1,
    next: undefined,
    baseMicros,
    ids: items.map(({ id }) => idOf(id)).join(""),
    parents: items.map(({ parent }) => (parent === undefined ? -1 : placeOf(parent))),
    far: far.map(idOf).join(""),
    name: items.map((_, place) => place),
    names: items.map(({ name, id }) => name ?? `run ${id}`),
    type: items.map((_, place) => place),
    types: items.map(({ type }) => type ?? "chain"),
    start: items.map(({ start }) => start ?? 0),
    end: items.map(({ start, end }) => (end === undefined ? (start ?? 0) + 10 : end)),
    errors: items.flatMap(({ failed }, place) => (failed === true ? [place] : [])),
    tokens: {},
    cost: {},
    firstToken: {},
  };
}

export const modelOf = (items: readonly Item[]): TraceModel =>
  growTrace(undefined, [toColumns(items)]);

/** Names of runs, by their places. */
export const numbersOf = (model: TraceModel, places: Iterable<number>): number[] =>
  [...places].map((place) => Number(model.ids[place]?.slice(-12)));
