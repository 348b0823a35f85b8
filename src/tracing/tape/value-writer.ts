import { types } from "node:util";
import { tag } from "../../model/records/tape-format.ts";
import { FieldFull, CapacityExceeded } from "./capacity-exceeded.ts";
import {
  bytesOf,
  errorEntries,
  keyed,
  rareText,
  reasonOf,
  sizeOf,
  textOf,
  typeNameOf,
  countOr,
} from "./object-kinds.ts";
import { cachedUnits, KeyCache } from "./string-cache.ts";
import type { CachedString } from "./string-cache.ts";
import type { TapeWriter } from "./tape-writer.ts";

/** Levels of nesting that are recorded; what lies deeper becomes a marker. */
export const depthLimit = 500;
/** Elements of an array that are recorded; a longer one becomes a marker. */
const lengthLimit = 5_000_000;

/**
 * Writes any JavaScript value to a tape in one walk, as it is at the call. docs/values.md lists how each kind of
 * value is recorded. A value that can't be recorded becomes a marker with the reason; its neighbours are recorded.
 */
export class ValueWriter {
  readonly #out: TapeWriter;
  /** The objects that the walk is inside of, outermost first. */
  readonly #ancestors: unknown[] = [];
  readonly #truncation: TruncationMarkers;
  readonly #keys = new KeyCache();
  readonly #graph = new GraphBudget();

  constructor(out: TapeWriter) {
    this.#out = out;
    this.#truncation = new TruncationMarkers(out);
  }

  /**
   * Writes one value, as far as its field has room. Throws only {@link CapacityExceeded}. Values of one `place` are thought
   * to be of the same shape.
   */
  write(value: unknown, position = 0): void {
    try {
      this.#value(value, 0, this.#keys.at(position));
      if (this.#out.mark() > graphBytes) {
        this.#graph.reset();
      }
    } catch (error) {
      // What the walk was inside of is not kept alive.
      this.#ancestors.length = 0;
      this.#truncation.reset();
      this.#graph.reset();
      if (!(error instanceof FieldFull)) {
        throw error;
      }
    }
  }

  /** One comparison after the other, the likely ones first: a `switch` makes a text of the type each time. */
  #value(value: unknown, depth: number, holder: CachedString): void {
    if (typeof value === "string") {
      this.#text(value, holder);
    } else if (typeof value === "object" && value !== null) {
      this.#guarded(value, depth, holder);
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
      this.#guarded(value, depth, holder);
    } else {
      this.#out.text(rareText(value));
    }
  }

  /** The same few short texts come again at the same place: roles, models, kinds. */
  #text(value: string, holder: CachedString): void {
    const expected = holder.value;
    if (expected === undefined || expected.text !== value || !this.#out.cached(expected)) {
      this.#out.text(value);
      if (value.length <= cachedUnits) {
        holder.expect(value);
      }
    }
  }

  /** Writes an object; if that throws, what it wrote is replaced by a marker. */
  #guarded(value: object, depth: number, holder: CachedString): void {
    const mark = this.#out.mark();
    try {
      this.#object(value, depth, holder);
    } catch (error) {
      if (error instanceof CapacityExceeded) {
        throw error;
      }
      this.#out.rewind(mark);
      this.#out.text(`[unserializable: ${reasonOf(error)}]`);
    }
    this.#ancestors[depth] = undefined;
  }

  #object(value: object, depth: number, holder: CachedString): void {
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
    if (Array.isArray(value) && keyed(value)["toJSON"] === undefined) {
      // A place of its own to ask for it: arrays are of a few kinds, and so each is compiled in.
      this.#array(value, depth, holder);
      return;
    }
    const { toJSON: toJson, constructor } = keyed(value);
    if (toJson === undefined && constructor === Object) {
      // Asking for the prototype is a call into the runtime; this is not, and as good.
      this.#plain(value, depth, holder);
      return;
    }
    if (typeof toJson === "function" && !types.isDate(value)) {
      const json: unknown = Reflect.apply(toJson, value, [""]);
      this.#afterToJson(json, depth, holder);
      return;
    }
    this.#withoutToJson(value, depth, holder);
  }

  /** Whether the walk is inside of this object. */
  #isInside(value: object, depth: number): boolean {
    for (let i = depth - 1; i >= 0; i--) {
      if (this.#ancestors[i] === value) {
        return true;
      }
    }
    return false;
  }

  /** As in JSON.stringify, `toJSON` of what `toJSON` returned is not called. */
  #afterToJson(json: unknown, depth: number, holder: CachedString): void {
    if (typeof json === "object" && json !== null && !ArrayBuffer.isView(json)) {
      if (this.#isInside(json, depth)) {
        this.#out.text("[circular]");
      } else {
        this.#withoutToJson(json, depth, holder);
      }
    } else {
      this.#value(json, depth, holder);
    }
  }

  #withoutToJson(value: object, depth: number, holder: CachedString): void {
    if (Array.isArray(value)) {
      this.#array(value, depth, holder);
      return;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) {
      this.#plain(value, depth, holder);
    } else {
      this.#special(value, depth, holder);
    }
  }

  #array(items: readonly unknown[], depth: number, holder: CachedString): void {
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
        this.#value(item, depth + 1, holder);
      }
    } catch (error) {
      this.#truncation.stop(error, length, i);
    }
    this.#out.end();
  }

  /** Own enumerable keys in their order; a value that is `undefined` is left out with its key. */
  #plain(value: object, depth: number, holder: CachedString): void {
    const record = keyed(value);
    this.#out.tag(tag.object);
    let done = 0;
    let before: CachedString | undefined;
    let expected = holder.first;
    try {
      // Keep key, check and value in one function, and keep `hasOwnProperty.call`: V8 then removes the check and reads the
      // fields in their order. `Object.hasOwn`, or a closure that holds the object, costs a call for each key.
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
              expected = this.#keys.learn(key, holder, before);
            }
            if (!this.#out.cached(expected)) {
              this.#out.key(key);
            }
            this.#value(item, depth + 1, expected);
            before = expected;
            expected = expected.next;
          }
          done += 1;
        }
      }
    } catch (error) {
      this.#truncation.stop(error, record, done);
    }
    this.#out.end();
  }

  /** Everything that is neither an array nor a plain object. */
  #special(value: object, depth: number, holder: CachedString): void {
    if (sizeOf(value) > lengthLimit) {
      this.#out.text(`[too long: ${sizeOf(value)} elements]`);
    } else if (types.isMap(value)) {
      this.#map(value, depth);
    } else if (types.isSet(value)) {
      this.#array([...Set.prototype.values.call(value)], depth, holder);
    } else if (types.isNativeError(value) || value instanceof Error) {
      this.#entries(errorEntries(value), depth);
    } else if (types.isAnyArrayBuffer(value)) {
      this.#out.binary(typeNameOf(value), new Uint8Array(value));
    } else if (types.isBoxedPrimitive(value)) {
      this.#value(value.valueOf(), depth, holder);
    } else if (value instanceof Headers) {
      this.#plain(Object.fromEntries(value), depth, holder);
    } else {
      const text = textOf(value);
      if (text === undefined) {
        this.#plain(value, depth, holder);
      } else {
        this.#out.text(text);
      }
    }
  }

  /** An object where every key is text, else an array of pairs. */
  #map(map: ReadonlyMap<unknown, unknown>, depth: number): void {
    const entries = [...Map.prototype.entries.call(map)];
    if (entries.some(([key]) => typeof key !== "string")) {
      this.#array(entries, depth, this.#keys.others);
      return;
    }
    this.#entries(
      entries.map(([key, item]) => [String(key), item]),
      depth,
    );
  }

  #entries(entries: readonly (readonly [key: string, item: unknown])[], depth: number): void {
    this.#out.tag(tag.object);
    let done = 0;
    try {
      for (const [key, item] of entries) {
        if (item !== undefined) {
          this.#out.key(key);
          this.#value(item, depth + 1, this.#keys.others);
        }
        done += 1;
      }
    } catch (error) {
      this.#truncation.stop(error, entries, done);
    }
    this.#out.end();
  }
}

/** What is recorded in place of an object that came too often. */
const repeatedMarker = "[repeated too often]";

/** Bytes of a record below which objects are not counted: most records cost nothing here. */
const graphBytes = 131_072;

/** Objects of one value that are written freely. After these, each repetition counts toward {@link repeats}. */
const freeObjects = 16_384;
/** Times that objects may come again, all together, from then on. */
const repeats = 65_536;

/**
 * Bounds the walk of a graph whose parts meet again and again: 40 objects, each named twice by the one before,
 * are 2^40 paths. Objects that come for the first time are never refused.
 */
class GraphBudget {
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

/** Markers in one value that say how much of an array or an object is missing: the innermost ones. */
const most = 16;

/** Ends arrays and objects whose field is full. */
class TruncationMarkers {
  readonly #out: TapeWriter;
  #written = 0;

  constructor(out: TapeWriter) {
    this.#out = out;
  }

  /** Another value begins. */
  reset(): void {
    this.#written = 0;
  }

  /**
   * Ends an array or an object that `error` interrupted after `done` elements, with a marker of how many are missing.
   * Always throws. Pass values, not a closure: variables that a closure of the walk captures are kept in memory instead
   * of registers, even where nothing fails.
   */
  stop(error: unknown, whole: number | object, done: number): never {
    if (!(error instanceof FieldFull)) {
      throw error;
    }
    const what = typeof whole === "number" ? "elements" : "keys";
    const count =
      typeof whole === "number" ? whole : countOr(() => Object.keys(whole).length, done + 1);
    const rest = count - done - (error.atKey ? 0 : 1);
    if (rest > 0 && this.#written < most) {
      this.#written += 1;
      if (what === "keys") {
        this.#out.text("[truncated]");
      }
      this.#out.text(what === "keys" ? `${rest} more keys` : `[truncated: ${rest} more elements]`);
    }
    this.#out.end();
    throw new FieldFull(false);
  }
}
