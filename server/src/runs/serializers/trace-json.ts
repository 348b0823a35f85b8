import type { TracePage, TraceRun } from "../trace.ts";

/** Names are cut: they can have any length. */
const nameChars = 300;

/**
 * A page of a trace as columns: what 10,000 objects would repeat 10,000 times is said once. Ids stand
 * one behind the other in one text, names and types as places in lists, times as microseconds from
 * `base_us`, which is the first start of the page. A parent is a place in the page, or, counted on from
 * there, in `far`, where those beyond the page stand.
 */
export function toTraceJson({ runs, next, mark }: TracePage): Readonly<Record<string, unknown>> {
  const base = runs.reduce((first, { startMicros }) => Math.min(first, startMicros), Infinity);
  const baseMicros = runs.length === 0 ? 0 : base;
  const names = new WordList();
  const types = new WordList();
  const places = new Map(runs.map(({ id }, index) => [id, index]));
  const far = new WordList();
  const parents = runs.map(({ parentRunId }) =>
    parentRunId === null ? -1 : (places.get(parentRunId) ?? runs.length + far.place(parentRunId)),
  );
  const sparse = (read: (run: TraceRun) => number | null): Record<number, number> =>
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
    far: far.words.join(""),
    name: runs.map(({ name }) => names.place(name.slice(0, nameChars))),
    names: names.words,
    type: runs.map(({ runType }) => types.place(runType.slice(0, nameChars))),
    types: types.words,
    start: runs.map(({ startMicros }) => startMicros - baseMicros),
    end: runs.map(({ endMicros }) => (endMicros === null ? null : endMicros - baseMicros)),
    errors: runs.flatMap(({ hasError }, index) => (hasError ? [index] : [])),
    tokens: sparse(({ totalTokens }) => totalTokens),
    cost: sparse(({ totalCost }) => totalCost),
    first_token: sparse(({ firstTokenMicros }) =>
      firstTokenMicros === null ? null : firstTokenMicros - baseMicros,
    ),
  };
}

/** Words in the order in which they first came. */
class WordList {
  readonly words: string[] = [];
  readonly #places = new Map<string, number>();

  place(word: string): number {
    const known = this.#places.get(word);
    if (known !== undefined) {
      return known;
    }
    this.#places.set(word, this.words.length);
    this.words.push(word);
    return this.words.length - 1;
  }
}
