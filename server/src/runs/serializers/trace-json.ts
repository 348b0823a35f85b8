import type { TracePage } from "../trace.ts";

/** Maximum number of characters of names, types and models, which may have any length. Longer ones are cut off. */
const maxNameChars = 300;

/**
 * Serializes a page of a trace as columns, so that member names are not repeated for up to 10,000 runs. Ids are
 * concatenated to one string. Names and types are indexes into lists of distinct values. Times are microseconds after
 * `base_us`, the earliest start on the page. A parent is the index of a run on the page, or -1 if there is no parent.
 * An index of `count` (the number of runs) or more refers to `far`, the ids of parents that are not on the page.
 */
export function toTraceJson({ columns, next, mark }: TracePage): Readonly<Record<string, unknown>> {
  const { ids, starts } = columns;
  const count = ids.length;
  const baseMicros =
    count === 0 ? 0 : starts.reduce((first, start) => Math.min(first, start), Infinity);
  const names = new TextTable();
  const types = new TextTable();
  const models = new TextTable();
  const offPageParents = new TextTable();
  return {
    count,
    mark,
    next: next ?? null,
    base_us: baseMicros,
    ids: ids.join(""),
    parents: toParentIndexes(columns, offPageParents),
    far: offPageParents.texts.join(""),
    name: columns.names.map((name) => names.findOrAddIndex(name.slice(0, maxNameChars))),
    names: names.texts,
    type: columns.runTypes.map((type) => types.findOrAddIndex(type.slice(0, maxNameChars))),
    types: types.texts,
    start: starts.map((start) => start - baseMicros),
    end: columns.ends.map((end) => (end === null ? null : end - baseMicros)),
    errors: [...columns.errors.keys()].filter((index) => columns.errors[index] === 1),
    model: toSparseColumn(columns.models, (model) =>
      models.findOrAddIndex(model.slice(0, maxNameChars)),
    ),
    models: models.texts,
    tokens: toSparseColumn(columns.tokens),
    cost: toSparseColumn(columns.costs),
    prompt_cost: toSparseColumn(columns.promptCosts),
    completion_cost: toSparseColumn(columns.completionCosts),
    first_token: toSparseColumn(columns.firstTokens, (time) => time - baseMicros),
  };
}

/** Returns the index of each run's parent. Siblings often follow each other, so the last parent is cached. */
function toParentIndexes(
  { ids, parentIds }: TracePage["columns"],
  offPageParents: TextTable,
): readonly number[] {
  const indexById = new Map<string, number>();
  ids.forEach((id, index) => indexById.set(id, index));
  let lastId: string | null = null;
  let lastIndex = -1;
  return parentIds.map((id) => {
    if (id !== lastId) {
      lastId = id;
      lastIndex =
        id === null ? -1 : (indexById.get(id) ?? ids.length + offPageParents.findOrAddIndex(id));
    }
    return lastIndex;
  });
}

/** Returns the values by index, without `null`: most runs have no value in these columns. */
function toSparseColumn<Value>(
  values: readonly (Value | null)[],
  convert: (value: Value) => unknown = (value) => value,
): Readonly<Record<number, unknown>> {
  const sparse: Record<number, unknown> = {};
  values.forEach((value, index) => {
    if (value !== null) {
      sparse[index] = convert(value);
    }
  });
  return sparse;
}

/** Distinct texts in the order of their first occurrence, referred to by index. */
class TextTable {
  readonly texts: string[] = [];
  readonly #indexes = new Map<string, number>();

  findOrAddIndex(text: string): number {
    const existing = this.#indexes.get(text);
    if (existing !== undefined) {
      return existing;
    }
    this.#indexes.set(text, this.texts.length);
    this.texts.push(text);
    return this.texts.length - 1;
  }
}
