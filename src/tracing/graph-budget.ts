/** What is recorded in place of an object that came too often. */
export const repeatedMarker = "[repeated too often]";

/** Bytes of a record below which objects are not counted: most records cost nothing here. */
export const graphBytes = 131_072;

/** Objects that are counted before they are told apart. */
const freeObjects = 16_384;
/** Times that objects may come again, all together, from then on. */
const repeats = 65_536;

/**
 * Bounds the walk of a graph whose parts meet again and again: 40 objects, each named twice by the one before,
 * are 2^40 paths. Objects that come for the first time are never refused.
 */
export class GraphBudget {
  #objects = 0;
  #repeats = 0;
  #seen: Set<object> | undefined;

  /** Counts an object; true where it came before and nothing is left for what comes again. */
  isSpent(value: object): boolean {
    this.#objects += 1;
    if (this.#objects <= freeObjects) {
      return false;
    }
    const seen = (this.#seen ??= new Set());
    if (!seen.has(value)) {
      seen.add(value);
      return false;
    }
    this.#repeats += 1;
    return this.#repeats > repeats;
  }

  /** Another value begins. */
  reset(): void {
    this.#objects = 0;
    this.#repeats = 0;
    this.#seen = undefined;
  }
}
