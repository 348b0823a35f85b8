import { isPlainObject } from "./payload.ts";

/** Levels that are copied; what lies deeper is kept as it is. It also ends the walk of a cycle. */
const depthLimit = 32;

/**
 * A copy of plain objects and arrays, so that a later change of them is not recorded. Objects of other
 * kinds (instances, Map, Buffer, ...) are kept as they are and read when the run ends.
 */
export function snapshotOf(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth >= depthLimit) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map((item: unknown) => snapshotOf(item, depth + 1));
  }
  return isPlainObject(value) && typeof value["toJSON"] !== "function"
    ? copyOf(value, depth + 1)
    : value;
}

/** The copy of an object's own values; `undefined` where one of them can't be read. */
export function snapshotOfEntries<Entries extends object>(value: Entries): Entries | undefined {
  try {
    return copyOf(value, 0) as Entries;
  } catch {
    // A getter or a proxy that throws; the caller says so and counts it.
    return undefined;
  }
}

const copyOf = (value: object, depth: number): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value).map(([key, item]: [string, unknown]) => [key, snapshotOf(item, depth)]),
  );
