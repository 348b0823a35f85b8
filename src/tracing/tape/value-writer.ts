import { types } from "node:util";
import { tag } from "../../model/records/tape-format.ts";
import { FieldFull, CapacityExceeded } from "./capacity-exceeded.ts";
import {
  bytesOf,
  readErrorEntries,
  asRecord,
  formatBigIntOrSymbol,
  reasonOf,
  sizeOf,
  toText,
  typeNameOf,
  tryCount,
} from "./object-kinds.ts";
import { longestCachedText, KeyCache } from "./string-cache.ts";
import type { CachedString } from "./string-cache.ts";
import type { TapeWriter } from "./tape-writer.ts";

/** Nesting levels that are recorded. A deeper value is replaced by a marker. */
export const depthLimit = 500;
/** Maximum length of an array, a Map or a Set. A longer one is replaced by a marker. */
const lengthLimit = 5_000_000;

/**
 * Writes any JavaScript value to a tape (a buffer of records) in a single traversal during the call. docs/values.md
 * lists how each kind of value is recorded. A value that can't be recorded is replaced by a marker with the reason; the
 * values around it are still recorded.
 */
export class ValueWriter {
  readonly #tapeWriter: TapeWriter;
  /** The objects that contain the current value, outermost first. */
  readonly #ancestors: unknown[] = [];
  readonly #truncation: TruncationMarkers;
  readonly #keys = new KeyCache();
  readonly #repetitions = new RepetitionBudget();
  #mustReset = false;

  constructor(out: TapeWriter) {
    this.#tapeWriter = out;
    this.#truncation = new TruncationMarkers(out);
  }

  /**
   * Writes one value, and truncates it if its field is full. Throws only {@link CapacityExceeded}, or a RangeError if
   * the stack is exhausted. Values written with the same `shapeId` are expected to have the same shape.
   */
  write(value: unknown, shapeId = 0): void {
    if (this.#mustReset) {
      this.#reset();
    }
    try {
      this.#writeValue(value, 0, this.#keys.entryFor(shapeId));
      if (this.#tapeWriter.position() > countingStartBytes) {
        this.#repetitions.reset();
      }
    } catch (error) {
      // Release the references to the objects that were being traversed.
      this.#ancestors.length = 0;
      // On an exhausted stack the call of `#reset` throws too. Then the next `write` resets the state.
      this.#mustReset = true;
      this.#reset();
      if (!(error instanceof FieldFull)) {
        throw error;
      }
    }
  }

  #reset(): void {
    this.#truncation.reset();
    this.#repetitions.reset();
    this.#mustReset = false;
  }

  /**
   * Writes one value. It compares one type after another, likely ones first, because `switch (typeof value)` creates
   * the type's name each time.
   */
  #writeValue(value: unknown, depth: number, parentKey: CachedString): void {
    if (typeof value === "string") {
      this.#writeText(value, parentKey);
    } else if (typeof value === "object" && value !== null) {
      this.#writeGuarded(value, depth, parentKey);
    } else if (typeof value === "number") {
      if (Number.isFinite(value)) {
        this.#tapeWriter.writeNumber(value);
      } else {
        this.#tapeWriter.writeText(String(value));
      }
    } else if (typeof value === "boolean") {
      this.#tapeWriter.writeTag(value ? tag.true : tag.false);
    } else if (value === null || value === undefined) {
      this.#tapeWriter.writeTag(tag.null);
    } else if (typeof value === "function") {
      this.#writeGuarded(value, depth, parentKey);
    } else {
      this.#tapeWriter.writeText(formatBigIntOrSymbol(value));
    }
  }

  /**
   * Writes a text. Short texts such as roles and model names usually repeat under the same key, so if the text
   * equals the one that was last written under the key, a copy of its cached bytes is written.
   */
  #writeText(value: string, parentKey: CachedString): void {
    const expectedText = parentKey.expectedValue;
    if (
      expectedText === undefined ||
      expectedText.text !== value ||
      !this.#tapeWriter.writeCached(expectedText)
    ) {
      this.#tapeWriter.writeText(value);
      if (value.length <= longestCachedText) {
        parentKey.expectValue(value);
      }
    }
  }

  /** Writes an object. If that throws, a marker replaces everything that was written of the object. */
  #writeGuarded(value: object, depth: number, parentKey: CachedString): void {
    const startPosition = this.#tapeWriter.position();
    try {
      this.#writeObject(value, depth, parentKey);
    } catch (error) {
      if (error instanceof CapacityExceeded) {
        throw error;
      }
      this.#tapeWriter.rewind(startPosition);
      this.#tapeWriter.writeText(`[unserializable: ${reasonOf(error)}]`);
    }
    this.#ancestors[depth] = undefined;
  }

  #writeObject(value: object, depth: number, parentKey: CachedString): void {
    if (this.#tapeWriter.position() > countingStartBytes && this.#repetitions.isSpent(value)) {
      this.#tapeWriter.writeText(repeatedMarker);
      return;
    }
    if (depth >= depthLimit) {
      this.#tapeWriter.writeText(`[too deep: ${depthLimit} levels]`);
      return;
    }
    if (this.#isInside(value, depth)) {
      this.#tapeWriter.writeText("[circular]");
      return;
    }
    this.#ancestors[depth] = value;
    if (ArrayBuffer.isView(value)) {
      this.#tapeWriter.writeBinary(typeNameOf(value), bytesOf(value));
      return;
    }
    if (Array.isArray(value) && asRecord(value)["toJSON"] === undefined) {
      // `toJSON` of arrays is read in a separate statement, because V8 optimizes a property access that reads from few
      // kinds of objects, and there are few kinds of arrays.
      this.#writeArray(value, depth, parentKey);
      return;
    }
    const { toJSON: toJson, constructor } = asRecord(value);
    if (toJson === undefined && constructor === Object) {
      // Comparing the constructor is faster than `Object.getPrototypeOf`, which calls into the runtime.
      this.#writePlain(value, depth, parentKey);
      return;
    }
    if (typeof toJson === "function" && !types.isDate(value)) {
      const json: unknown = Reflect.apply(toJson, value, [""]);
      this.#writeJsonResult(json, depth, parentKey);
      return;
    }
    this.#writeWithoutToJson(value, depth, parentKey);
  }

  /** Whether an object is reached again inside itself, so that writing it would never end. */
  #isInside(value: object, depth: number): boolean {
    for (let i = depth - 1; i >= 0; i--) {
      if (this.#ancestors[i] === value) {
        return true;
      }
    }
    return false;
  }

  /** Writes the result of `toJSON`. As in JSON.stringify, a `toJSON` method of the result is not called. */
  #writeJsonResult(json: unknown, depth: number, parentKey: CachedString): void {
    if (typeof json === "object" && json !== null && !ArrayBuffer.isView(json)) {
      if (this.#isInside(json, depth)) {
        this.#tapeWriter.writeText("[circular]");
      } else {
        this.#writeWithoutToJson(json, depth, parentKey);
      }
    } else {
      this.#writeValue(json, depth, parentKey);
    }
  }

  #writeWithoutToJson(value: object, depth: number, parentKey: CachedString): void {
    if (Array.isArray(value)) {
      this.#writeArray(value, depth, parentKey);
      return;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) {
      this.#writePlain(value, depth, parentKey);
    } else {
      this.#writeSpecial(value, depth, parentKey);
    }
  }

  #writeArray(items: readonly unknown[], depth: number, parentKey: CachedString): void {
    const length = items.length;
    if (length > lengthLimit) {
      this.#tapeWriter.writeText(`[too long: ${length} elements]`);
      return;
    }
    this.#tapeWriter.writeTag(tag.array);
    let i = 0;
    try {
      for (; i < length; i++) {
        let item: unknown;
        try {
          item = items[i];
        } catch (error) {
          item = `[unserializable: ${reasonOf(error)}]`;
        }
        this.#writeValue(item, depth + 1, parentKey);
      }
    } catch (error) {
      this.#truncation.closeAndRethrow(error, length, i);
    }
    this.#tapeWriter.writeEnd();
  }

  /** Writes an object's own enumerable keys in their order. Keys whose value is `undefined` are left out. */
  #writePlain(value: object, depth: number, parentKey: CachedString): void {
    const record = asRecord(value);
    this.#tapeWriter.writeTag(tag.object);
    let doneCount = 0;
    let previous: CachedString | undefined;
    let expected = parentKey.firstKey;
    try {
      // Keep the loop, the check and the read in one function, and keep `hasOwnProperty.call`: V8 then removes the
      // check and reads the fields in order. `Object.hasOwn`, or a closure over the object, costs a call for each key.
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
            if (!this.#tapeWriter.writeCached(expected)) {
              this.#tapeWriter.writeKey(key);
            }
            this.#writeValue(item, depth + 1, expected);
            previous = expected;
            expected = expected.nextKey;
          }
          doneCount += 1;
        }
      }
    } catch (error) {
      this.#truncation.closeAndRethrow(error, record, doneCount);
    }
    this.#tapeWriter.writeEnd();
  }

  /** Writes an object that is neither an array nor a plain object. */
  #writeSpecial(value: object, depth: number, parentKey: CachedString): void {
    if (sizeOf(value) > lengthLimit) {
      this.#tapeWriter.writeText(`[too long: ${sizeOf(value)} elements]`);
    } else if (types.isMap(value)) {
      this.#writeMap(value, depth);
    } else if (types.isSet(value)) {
      this.#writeArray([...Set.prototype.values.call(value)], depth, parentKey);
    } else if (types.isNativeError(value) || value instanceof Error) {
      this.#writeEntries(readErrorEntries(value), depth);
    } else if (types.isAnyArrayBuffer(value)) {
      this.#tapeWriter.writeBinary(typeNameOf(value), new Uint8Array(value));
    } else if (types.isBoxedPrimitive(value)) {
      this.#writeValue(value.valueOf(), depth, parentKey);
    } else if (value instanceof Headers) {
      this.#writePlain(Object.fromEntries(value), depth, parentKey);
    } else {
      const text = toText(value);
      if (text === undefined) {
        this.#writePlain(value, depth, parentKey);
      } else {
        this.#tapeWriter.writeText(text);
      }
    }
  }

  /** Writes a Map: as an object if all keys are strings, else as an array of pairs. */
  #writeMap(map: ReadonlyMap<unknown, unknown>, depth: number): void {
    const entries = [...Map.prototype.entries.call(map)];
    if (entries.some(([key]) => typeof key !== "string")) {
      this.#writeArray(entries, depth, this.#keys.uncached);
      return;
    }
    this.#writeEntries(
      entries.map(([key, item]) => [String(key), item]),
      depth,
    );
  }

  #writeEntries(entries: readonly (readonly [key: string, item: unknown])[], depth: number): void {
    this.#tapeWriter.writeTag(tag.object);
    let doneCount = 0;
    try {
      for (const [key, item] of entries) {
        if (item !== undefined) {
          this.#tapeWriter.writeKey(key);
          this.#writeValue(item, depth + 1, this.#keys.uncached);
        }
        doneCount += 1;
      }
    } catch (error) {
      this.#truncation.closeAndRethrow(error, entries, doneCount);
    }
    this.#tapeWriter.writeEnd();
  }
}

/** Recorded in place of an object when the budget for repeated objects is used up. */
const repeatedMarker = "[repeated too often]";

/**
 * Objects are counted only after a record has reached this many bytes. Most records are smaller, so counting costs
 * them nothing.
 */
const countingStartBytes = 131_072;

/** Number of objects that one value may contain before repeated objects are counted. */
const uncountedObjects = 16_384;
/** Number of repeated objects that are written before further ones are replaced by a marker. */
const repetitionLimit = 65_536;

/**
 * Bounds the traversal of a graph with shared objects: 40 objects, each referenced twice by the one before, have 2^40
 * paths. An object that occurs for the first time is never refused.
 */
class RepetitionBudget {
  #objects = 0;
  #repeats = 0;
  #seen: Set<object> | undefined;

  /** Counts an object. Returns true if it occurred before and no more repetitions are allowed. */
  isSpent(value: object): boolean {
    this.#objects += 1;
    if (this.#objects <= uncountedObjects) {
      return false;
    }
    const seen = (this.#seen ??= new Set());
    if (!seen.has(value)) {
      seen.add(value);
      return false;
    }
    this.#repeats += 1;
    return this.#repeats > repetitionLimit;
  }

  /** Forgets all counted objects. Call this before the next value is written. */
  reset(): void {
    this.#objects = 0;
    this.#repeats = 0;
    this.#seen = undefined;
  }
}

/**
 * Maximum number of markers in one value that state how many elements are missing. The innermost arrays and objects get
 * these markers.
 */
const markerLimit = 16;

/** Closes arrays and objects whose field is full. */
class TruncationMarkers {
  readonly #tapeWriter: TapeWriter;
  #markerCount = 0;

  constructor(out: TapeWriter) {
    this.#tapeWriter = out;
  }

  /** Resets the number of markers. Call this before the next value is written. */
  reset(): void {
    this.#markerCount = 0;
  }

  /**
   * Closes an array or an object that `error` interrupted after `doneCount` elements, with a marker for the number of
   * missing ones. `container` is the length of the array, or the object whose keys were written. Always throws. Pass
   * values, not a closure: variables captured by a closure are kept in memory instead of registers, which slows down
   * the traversal even if nothing fails.
   */
  closeAndRethrow(error: unknown, container: number | object, doneCount: number): never {
    if (!(error instanceof FieldFull)) {
      throw error;
    }
    const unit = typeof container === "number" ? "elements" : "keys";
    const totalCount =
      typeof container === "number"
        ? container
        : tryCount(() => Object.keys(container).length, doneCount + 1);
    const missing = totalCount - doneCount - (error.isAtKey ? 0 : 1);
    if (missing > 0 && this.#markerCount < markerLimit) {
      this.#markerCount += 1;
      if (unit === "keys") {
        this.#tapeWriter.writeText("[truncated]");
      }
      this.#tapeWriter.writeText(
        unit === "keys" ? `${missing} more keys` : `[truncated: ${missing} more elements]`,
      );
    }
    this.#tapeWriter.writeEnd();
    throw new FieldFull(false);
  }
}
