import { types } from "node:util";
import { isPlainObject } from "./payload.ts";
import { microsToIso } from "../../model/dotted-order.ts";
import type { RunEvent } from "../../model/run.ts";
import { clock } from "../../model/clock.ts";
import type { Recorder } from "./recorder.ts";

/**
 * Maximum nesting depth that is copied. Deeper values are kept by reference, so that copying an object with circular
 * references terminates.
 */
const depthLimit = 32;
/** Maximum number of values copied. A graph with shared objects can have exponentially many paths. */
const valueLimit = 100_000;

/**
 * Copies plain objects, arrays, Maps, Sets, Dates and binary data, so that later changes to them are not recorded.
 * Other objects, and those with a `toJSON` method, are kept by reference and read when the run ends.
 */
export const createSnapshot = (value: unknown): unknown => new Copier().copyValue(value, 0);

/** Copies an object with its own enumerable properties. Returns `undefined` if one of them can't be read. */
function tryCopyEntries<Entries extends object>(value: Entries): Entries | undefined {
  try {
    return new Copier().copyProperties(value, 0) as Entries;
  } catch {
    // A getter or a proxy threw. The caller reports and counts it.
    return undefined;
  }
}

/** Makes one copy, and counts the values in it. */
class Copier {
  #copiedValues = 0;

  copyValue(value: unknown, depth: number): unknown {
    this.#copiedValues += 1;
    if (typeof value !== "object" || value === null) {
      return value;
    }
    if (depth >= depthLimit || this.#copiedValues > valueLimit) {
      return value;
    }
    if (Array.isArray(value)) {
      return value.map((item: unknown) => this.copyValue(item, depth + 1));
    }
    if (isPlainObject(value)) {
      return typeof value["toJSON"] === "function" ? value : this.copyProperties(value, depth + 1);
    }
    return this.#copyBuiltIn(value, depth);
  }

  copyProperties(value: object, depth: number): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]: [string, unknown]) => [
        key,
        this.copyValue(item, depth),
      ]),
    );
  }

  #copyBuiltIn(value: object, depth: number): unknown {
    if (types.isDate(value)) {
      return new Date(Date.prototype.getTime.call(value));
    }
    if (types.isMap(value)) {
      const entries = [...Map.prototype.entries.call(value)];
      return new Map(entries.map(([key, item]) => [key, this.copyValue(item, depth + 1)]));
    }
    if (types.isSet(value)) {
      const items = [...Set.prototype.values.call(value)];
      return new Set(items.map((item) => this.copyValue(item, depth + 1)));
    }
    if (Buffer.isBuffer(value)) {
      return Buffer.from(value);
    }
    return types.isTypedArray(value) ? value.slice() : value;
  }
}

/** Copies an object that a caller adds to an open run. An object that can't be read is reported and left out. */
export function copyEntries<Entries extends object>(
  value: Entries,
  runRecorder: Recorder,
): Entries | undefined {
  const copy = tryCopyEntries(value);
  if (copy === undefined) {
    runRecorder.warn(
      "hiddenFailure",
      "Metadata or an event was left out of a run: it can't be read.",
    );
  }
  return copy;
}

/** Copies an event as {@link copyEntries} does. An event without a time gets the time of the call. */
export function copyEvent(event: RunEvent, runRecorder: Recorder): RunEvent | undefined {
  const copy = copyEntries(event, runRecorder);
  return copy && { ...copy, time: copy.time ?? microsToIso(clock()) };
}
