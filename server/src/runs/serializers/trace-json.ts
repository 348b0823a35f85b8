import type { TracePage, TraceRun } from "../trace.ts";

/** Names and types, which may have any length, are cut off after this number of characters. */
const maxNameChars = 300;

/**
 * Serializes a page of a trace as columns, so that member names are not repeated for up to 10,000 runs. Ids are
 * concatenated to one string. Names and types are indexes into lists of distinct values. Times are microseconds after
 * `base_us`, the earliest start on the page. A parent is the index of a run on the page, or -1 if there is no parent.
 * An index of `count` (the number of runs) or more refers to `far`, the ids of parents that are not on the page.
 */
export function toTraceJson({ runs, next, mark }: TracePage): Readonly<Record<string, unknown>> {
  const earliestMicros = runs.reduce(
    (first, { startMicros }) => Math.min(first, startMicros),
    Infinity,
  );
  const baseMicros = runs.length === 0 ? 0 : earliestMicros;
  const nameTable = new TextTable();
  const typeTable = new TextTable();
  const modelTable = new TextTable();
  const indexById = new Map(runs.map(({ id }, index) => [id, index]));
  const distantParents = new TextTable();
  const parents = runs.map(({ parentRunId }) =>
    parentRunId === null
      ? -1
      : (indexById.get(parentRunId) ?? runs.length + distantParents.findOrAddIndex(parentRunId)),
  );
  const toSparseColumn = (read: (run: TraceRun) => number | null): Record<number, number> =>
    Object.fromEntries(
      runs.flatMap((run, index) => {
        const value = read(run);
        return value === null ? [] : [[index, value]];
      }),
    );
  return {
    count: runs.length,
    mark,
    next: next ?? null,
    base_us: baseMicros,
    ids: runs.map(({ id }) => id).join(""),
    parents,
    far: distantParents.texts.join(""),
    name: runs.map(({ name }) => nameTable.findOrAddIndex(name.slice(0, maxNameChars))),
    names: nameTable.texts,
    type: runs.map(({ runType }) => typeTable.findOrAddIndex(runType.slice(0, maxNameChars))),
    types: typeTable.texts,
    start: runs.map(({ startMicros }) => startMicros - baseMicros),
    end: runs.map(({ endMicros }) => (endMicros === null ? null : endMicros - baseMicros)),
    errors: runs.flatMap(({ hasError }, index) => (hasError ? [index] : [])),
    model: toSparseColumn(({ model }) =>
      model === null ? null : modelTable.findOrAddIndex(model.slice(0, maxNameChars)),
    ),
    models: modelTable.texts,
    tokens: toSparseColumn(({ totalTokens }) => totalTokens),
    cost: toSparseColumn(({ totalCost }) => totalCost),
    prompt_cost: toSparseColumn(({ promptCost }) => promptCost),
    completion_cost: toSparseColumn(({ completionCost }) => completionCost),
    first_token: toSparseColumn(({ firstTokenMicros }) =>
      firstTokenMicros === null ? null : firstTokenMicros - baseMicros,
    ),
  };
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
