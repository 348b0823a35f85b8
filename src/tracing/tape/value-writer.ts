import { types } from "node:util";
import { tag } from "../../model/records/tape-format.ts";
import { FieldFull, CapacityExceeded } from "./capacity-exceeded.ts";
import {
  bytesOf,
  errorEntries,
  asRecord,
  toRareText,
  reasonOf,
  sizeOf,
  textOf,
  typeNameOf,
  tryCount,
} from "./object-kinds.ts";
import { cachedUnits, KeyCache } from "./string-cache.ts";
import type { CachedString } from "./string-cache.ts";
import type { TapeWriter } from "./tape-writer.ts";

/** Nesting levels that are recorded. A deeper value is replaced by a marker. */
export const depthLimit = 500;
/** Maximum length of an array, a Map or a Set. A longer one is replaced by a marker. */
const lengthLimit = 5_000_000;

/**
 * Writes any JavaScript value to a tape in a single traversal, as it is during the call. docs/values.md lists how each
 * kind of value is recorded. A value that can't be recorded is replaced by a marker with the reason; the values around
 * it are still recorded.
 */
export class ValueWriter {
  readonly #out: TapeWriter;
  /** The objects that contain the current value, outermost first. */
  readonly #ancestors: unknown[] = [];
  readonly #truncation: TruncationMarkers;
  readonly #keys = new KeyCache();
  readonly #graph = new GraphBudget();
  #mustReset = false;

  constructor(out: TapeWriter) {
    this.#out = out;
    this.#truncation = new TruncationMarkers(out);
  }

  /**
   * Writes one value, and truncates it if its field is full. Throws only {@link CapacityExceeded}. Values written with the
   * same `position` are expected to have the same shape.
   */
  write(value: unknown, position = 0): void {
    if (this.#mustReset) {
      this.#reset();
    }
    try {
      this.#value(value, 0, this.#keys.at(position));
      if (this.#out.mark() > graphBytes) {
        this.#graph.reset();
      }
    } catch (error) {
      // Release the references to the objects that were being traversed.
      this.#ancestors.length = 0;
      // If the stack is exhausted, this call throws too, and the next one makes up for it.
      this.#mustReset = true;
      this.#reset();
      if (!(error instanceof FieldFull)) {
        throw error;
      }
    }
  }

  #reset(): void {
    this.#truncation.reset();
    this.#graph.reset();
    this.#mustReset = false;
  }

  /**
   * Writes one value. It compares one type after another, likely ones first, because `switch (typeof value)` creates
   * the type's name each time.
   */
  #value(value: unknown, depth: number, parentKey: CachedString): void {
    if (typeof value === "string") {
      this.#text(value, parentKey);
    } else if (typeof value === "object" && value !== null) {
      this.#guarded(value, depth, parentKey);
    } else if (typeof value === "number") {
      if (Number.isFinite(value)) {
        this.#out.number(value);
      } else {
        this.#out.text(String(value));
      }
    } else if (typeof value === "boolean") {
      this.#out.tag(value ? tag.true : tag.false);
    } else if (value === null || value === undefined) {
      this.#out.tag(tag.null);
    } else if (typeof value === "function") {
      this.#guarded(value, depth, parentKey);
    } else {
      this.#out.text(toRareText(value));
    }
  }

  /**
   * Writes a text. Short texts such as roles and model names usually repeat under the same key, so the expected one is
   * tried first.
   */
  #text(value: string, parentKey: CachedString): void {
    const expected = parentKey.value;
    if (expected === undefined || expected.text !== value || !this.#out.cached(expected)) {
      this.#out.text(value);
      if (value.length <= cachedUnits) {
        parentKey.expect(value);
      }
    }
  }

  /** Writes an object. If that throws, a marker replaces everything that was written of it. */
  #guarded(value: object, depth: number, parentKey: CachedString): void {
    const mark = this.#out.mark();
    try {
      this.#object(value, depth, parentKey);
    } catch (error) {
      if (error instanceof CapacityExceeded) {
        throw error;
      }
      this.#out.rewind(mark);
      this.#out.text(`[unserializable: ${reasonOf(error)}]`);
    }
    this.#ancestors[depth] = undefined;
  }

  #object(value: object, depth: number, parentKey: CachedString): void {
    if (this.#out.mark() > graphBytes && this.#graph.isSpent(value)) {
      this.#out.text(repeatedMarker);
      return;
    }
    if (depth >= depthLimit) {
      this.#out.text(`[too deep: ${depthLimit} levels]`);
      return;
    }
    if (this.#isInside(value, depth)) {
      this.#out.text("[circular]");
      return;
    }
    this.#ancestors[depth] = value;
    if (ArrayBuffer.isView(value)) {
      this.#out.binary(typeNameOf(value), bytesOf(value));
      return;
    }
    if (Array.isArray(value) && asRecord(value)["toJSON"] === undefined) {
      // `toJSON` of arrays is read in a separate statement: V8 optimizes this property access for the few kinds of
      // arrays.
      this.#array(value, depth, parentKey);
      return;
    }
    const { toJSON: toJson, constructor } = asRecord(value);
    if (toJson === undefined && constructor === Object) {
      // Comparing the constructor is faster than `Object.getPrototypeOf`, which calls into the runtime.
      this.#plain(value, depth, parentKey);
      return;
    }
    if (typeof toJson === "function" && !types.isDate(value)) {
      const json: unknown = Reflect.apply(toJson, value, [""]);
      this.#afterToJson(json, depth, parentKey);
      return;
    }
    this.#withoutToJson(value, depth, parentKey);
  }

  /** Whether this object contains the current value, so that writing it would never end. */
  #isInside(value: object, depth: number): boolean {
    for (let i = depth - 1; i >= 0; i--) {
      if (this.#ancestors[i] === value) {
        return true;
      }
    }
    return false;
  }

  /** Writes the result of `toJSON`. As in JSON.stringify, a `toJSON` method of the result is not called. */
  #afterToJson(json: unknown, depth: number, parentKey: CachedString): void {
    if (typeof json === "object" && json !== null && !ArrayBuffer.isView(json)) {
      if (this.#isInside(json, depth)) {
        this.#out.text("[circular]");
      } else {
        this.#withoutToJson(json, depth, parentKey);
      }
    } else {
      this.#value(json, depth, parentKey);
    }
  }

  #withoutToJson(value: object, depth: number, parentKey: CachedString): void {
    if (Array.isArray(value)) {
      this.#array(value, depth, parentKey);
      return;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) {
      this.#plain(value, depth, parentKey);
    } else {
      this.#special(value, depth, parentKey);
    }
  }

  #array(items: readonly unknown[], depth: number, parentKey: CachedString): void {
    const length = items.length;
    if (length > lengthLimit) {
      this.#out.text(`[too long: ${length} elements]`);
      return;
    }
    this.#out.tag(tag.array);
    let i = 0;
    try {
      for (; i < length; i++) {
        let item: unknown;
        try {
          item = items[i];
        } catch (error) {
          item = `[unserializable: ${reasonOf(error)}]`;
        }
        this.#value(item, depth + 1, parentKey);
      }
    } catch (error) {
      this.#truncation.stop(error, length, i);
    }
    this.#out.end();
  }

  /** Writes an object's own enumerable keys in their order. Keys whose value is `undefined` are left out. */
  #plain(value: object, depth: number, parentKey: CachedString): void {
    const record = asRecord(value);
    this.#out.tag(tag.object);
    let doneCount = 0;
    let previous: CachedString | undefined;
    let expected = parentKey.first;
    try {
      // Keep the loop, the check and the read in one function, and keep `hasOwnProperty.call`: V8 then removes the
      // check and
      // reads the fields in order. `Object.hasOwn`, or a closure over the object, costs a call for each key.
      for (const key in record) {
        if (Object.prototype.hasOwnProperty.call(record, key)) {
          let item: unknown;
          try {
            item = record[key];
          } catch (error) {
            item = `[unserializable: ${reasonOf(error)}]`;
          }
          if (item !== undefined) {
            if (expected === undefined || expected.text !== key) {
              expected = this.#keys.addFollowing(key, parentKey, previous);
            }
            if (!this.#out.cached(expected)) {
              this.#out.key(key);
            }
            this.#value(item, depth + 1, expected);
            previous = expected;
            expected = expected.next;
          }
          doneCount += 1;
        }
      }
    } catch (error) {
      this.#truncation.stop(error, record, doneCount);
    }
    this.#out.end();
  }

  /** Writes an object that is neither an array nor a plain object. */
  #special(value: object, depth: number, parentKey: CachedString): void {
    if (sizeOf(value) > lengthLimit) {
      this.#out.text(`[too long: ${sizeOf(value)} elements]`);
    } else if (types.isMap(value)) {
      this.#map(value, depth);
    } else if (types.isSet(value)) {
      this.#array([...Set.prototype.values.call(value)], depth, parentKey);
    } else if (types.isNativeError(value) || value instanceof Error) {
      this.#entries(errorEntries(value), depth);
    } else if (types.isAnyArrayBuffer(value)) {
      this.#out.binary(typeNameOf(value), new Uint8Array(value));
    } else if (types.isBoxedPrimitive(value)) {
      this.#value(value.valueOf(), depth, parentKey);
    } else if (value instanceof Headers) {
      this.#plain(Object.fromEntries(value), depth, parentKey);
    } else {
      const text = textOf(value);
      if (text === undefined) {
        this.#plain(value, depth, parentKey);
      } else {
        this.#out.text(text);
      }
    }
  }

  /** Writes a Map: as an object if all keys are strings, else as an array of pairs. */
  #map(map: ReadonlyMap<unknown, unknown>, depth: number): void {
    const entries = [...Map.prototype.entries.call(map)];
    if (entries.some(([key]) => typeof key !== "string")) {
      this.#array(entries, depth, this.#keys.uncached);
      return;
    }
    this.#entries(
      entries.map(([key, item]) => [String(key), item]),
      depth,
    );
  }

  #entries(entries: readonly (readonly [key: string, item: unknown])[], depth: number): void {
    this.#out.tag(tag.object);
    let doneCount = 0;
    try {
      for (const [key, item] of entries) {
        if (item !== undefined) {
          this.#out.key(key);
          this.#value(item, depth + 1, this.#keys.uncached);
        }
        doneCount += 1;
      }
    } catch (error) {
      this.#truncation.stop(error, entries, doneCount);
    }
    this.#out.end();
  }
}

/** Recorded in place of an object when the budget for repeated objects is used up. */
const repeatedMarker = "[repeated too often]";

/**
 * Objects are counted only after a record has reached this size, bytes. Most records are smaller, so counting costs
 * them nothing.
 */
const graphBytes = 131_072;

/** Number of objects that are written before repetitions are counted. */
const freeObjects = 16_384;
/** Total number of repetitions allowed after that. */
const repeatLimit = 65_536;

/**
 * Bounds the traversal of a graph with shared objects: 40 objects, each referenced twice by the one before, have 2^40
 * paths. An object that occurs for the first time is never refused.
 */
class GraphBudget {
  #objects = 0;
  #repeats = 0;
  #seen: Set<object> | undefined;

  /** Counts an object. Returns true if it occurred before and no more repetitions are allowed. */
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
    return this.#repeats > repeatLimit;
  }

  /** Call this before the next value. */
  reset(): void {
    this.#objects = 0;
    this.#repeats = 0;
    this.#seen = undefined;
  }
}

/**
 * Maximum number of markers in one value with the number of missing elements. The innermost arrays and objects get
 * them.
 */
const maxMarkers = 16;

/** Closes arrays and objects whose field is full. */
class TruncationMarkers {
  readonly #out: TapeWriter;
  #written = 0;

  constructor(out: TapeWriter) {
    this.#out = out;
  }

  /** Call this before the next value. */
  reset(): void {
    this.#written = 0;
  }

  /**
   * Closes an array or an object that `error` interrupted after `done` elements, with a marker for the number of missing
   * ones. Always throws. Pass values, not a closure: variables captured by a closure are kept in memory instead of
   * registers, which slows down the traversal even if nothing fails.
   */
  stop(error: unknown, container: number | object, doneCount: number): never {
    if (!(error instanceof FieldFull)) {
      throw error;
    }
    const unit = typeof container === "number" ? "elements" : "keys";
    const count =
      typeof container === "number"
        ? container
        : tryCount(() => Object.keys(container).length, doneCount + 1);
    const missing = count - doneCount - (error.atKey ? 0 : 1);
    if (missing > 0 && this.#written < maxMarkers) {
      this.#written += 1;
      if (unit === "keys") {
        this.#out.text("[truncated]");
      }
      this.#out.text(
        unit === "keys" ? `${missing} more keys` : `[truncated: ${missing} more elements]`,
      );
    }
    this.#out.end();
    throw new FieldFull(false);
  }
}
