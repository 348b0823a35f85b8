import { isUuid } from "../model/index.ts";
import { createNamedId } from "../scorers/row-ids.ts";
import { toJsonValue } from "./rows/json-value.ts";

export { createFeedbackId, createNamedId, createRunId } from "../scorers/row-ids.ts";

/** Namespace for the ids of rows that are not examples of a dataset. */
export const rowNamespace = "0f5f7c1e-6a55-4d0c-9d3f-5d7f2f0c6b11";

/** The parts of a row that determine its id. */
interface IdentifiedRow {
  readonly id?: string | undefined;
  readonly inputs?: unknown;
  readonly outputs?: unknown;
}

/**
 * Creates the ids of rows. If a row has an id, it is used; a string that is not a UUID is converted to one. Otherwise
 * the id is derived from the row's content and from the number of equal rows before it. The same data therefore has the
 * same ids in every experiment.
 */
export class RowIds {
  readonly #namespace: string;
  readonly #occurrences = new IdCounter();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  create({ id, inputs, outputs }: IdentifiedRow): string {
    if (id !== undefined) {
      return isUuid(id) ? id.toLowerCase() : createNamedId(this.#namespace, ["id", id].join(":"));
    }
    const content = JSON.stringify(sortMembers(toJsonValue({ inputs, outputs }, "row").json));
    const contentId = createNamedId(this.#namespace, `content:${content}`);
    const occurrence = this.#occurrences.add(contentId);
    return occurrence === 1
      ? contentId
      : createNamedId(this.#namespace, `content:${content}#${occurrence}`);
  }
}

/** Sorts the members of objects, so that their order does not change the id of a row. */
function sortMembers(value: unknown): unknown {
  if (typeof value !== "object" || value === null) {
    return value;
  }
  return Array.isArray(value)
    ? value.map(sortMembers)
    : Object.fromEntries(
        Object.entries(value)
          .toSorted(([left], [right]) => (left < right ? -1 : 1))
          .map(([key, member]) => [key, sortMembers(member)]),
      );
}

const initialSlots = 1_024;
/** Fraction of used slots above which the table grows. */
const maxLoad = 0.6;

/**
 * Counts how often each version 5 UUID was added. It needs 12 bytes for each id, because it stores only 64 bits of the
 * id and a count. A set of strings would need ten times as much, and data may have millions of rows.
 */
export class IdCounter {
  #high = new Uint32Array(initialSlots);
  #low = new Uint32Array(initialSlots);
  /** How often the id in each slot was added; 0 in a free slot. */
  #counts = new Uint32Array(initialSlots);
  #used = 0;

  /** Adds an id and returns how often it was added, including this time. */
  add(id: string): number {
    if (this.#used >= this.#counts.length * maxLoad) {
      this.#grow();
    }
    const slot = this.#findSlot(...readBits(id));
    const count = (this.#counts[slot] ?? 0) + 1;
    this.#counts[slot] = count;
    if (count === 1) {
      [this.#high[slot], this.#low[slot]] = readBits(id);
      this.#used += 1;
    }
    return count;
  }

  has(id: string): boolean {
    return (this.#counts[this.#findSlot(...readBits(id))] ?? 0) > 0;
  }

  /** Returns the slot of an id, or the free slot in which it belongs. */
  #findSlot(high: number, low: number): number {
    const mask = this.#counts.length - 1;
    let slot = low & mask;
    while (this.#counts[slot] !== 0 && (this.#high[slot] !== high || this.#low[slot] !== low)) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #grow(): void {
    const [high, low, counts] = [this.#high, this.#low, this.#counts];
    const slotCount = counts.length * 2;
    this.#high = new Uint32Array(slotCount);
    this.#low = new Uint32Array(slotCount);
    this.#counts = new Uint32Array(slotCount);
    counts.forEach((count, index) => {
      if (count > 0) {
        const [oldHigh, oldLow] = [high[index] ?? 0, low[index] ?? 0];
        const slot = this.#findSlot(oldHigh, oldLow);
        this.#high[slot] = oldHigh;
        this.#low[slot] = oldLow;
        this.#counts[slot] = count;
      }
    });
  }
}

/**
 * Returns the first and the last 32 bits of an id. In a version 5 UUID, these bits come from a digest, so they are
 * evenly distributed.
 */
const readBits = (id: string): [high: number, low: number] => [
  Number.parseInt(id.slice(0, 8), 16),
  Number.parseInt(id.slice(28), 16),
];
