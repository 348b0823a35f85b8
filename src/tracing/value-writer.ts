import { types } from "node:util";
import { tag } from "../model/tape-format.ts";
import { NoRoom } from "./tape-writer.ts";
import type { TapeWriter } from "./tape-writer.ts";

/** Levels of nesting that are recorded; what lies deeper becomes a marker. */
export const depthLimit = 500;
/** Elements of an array that are recorded; a longer one becomes a marker. */
const lengthLimit = 5_000_000;

/**
 * Writes any JavaScript value to a tape in one walk, as it is at the call. The table of what becomes
 * of which value is in docs/values.md. A value that can't be recorded becomes a marker that says why;
 * what surrounds it is recorded all the same.
 */
export class ValueWriter {
  readonly #out: TapeWriter;
  /** The objects that the walk is inside of, outermost first. */
  readonly #ancestors: unknown[] = [];

  constructor(out: TapeWriter) {
    this.#out = out;
  }

  /** Writes one value. Throws only {@link NoRoom}. */
  write(value: unknown): void {
    this.#value(value, 0);
  }

  #value(value: unknown, depth: number): void {
    switch (typeof value) {
      case "string":
        this.#out.text(value);
        break;
      case "number":
        this.#number(value);
        break;
      case "boolean":
        this.#out.tag(value ? tag.true : tag.false);
        break;
      case "object":
        if (value === null) {
          this.#out.tag(tag.null);
        } else {
          this.#guarded(value, depth);
        }
        break;
      case "bigint":
        this.#out.text(String(value));
        break;
      case "function":
        this.#guarded(value, depth);
        break;
      case "symbol":
        this.#out.text(`[${String(value)}]`);
        break;
      case "undefined":
        this.#out.tag(tag.null);
        break;
    }
  }

  #number(value: number): void {
    if (Number.isFinite(value)) {
      this.#out.number(value);
    } else {
      this.#out.text(String(value));
    }
  }

  /** Writes an object; if that throws, what it wrote is replaced by a marker. */
  #guarded(value: object, depth: number): void {
    const mark = this.#out.mark();
    try {
      this.#object(value, depth);
    } catch (error) {
      if (error instanceof NoRoom) {
        throw error;
      }
      this.#out.rewind(mark);
      this.#out.text(`[unserializable: ${reasonOf(error)}]`);
    }
    this.#ancestors[depth] = undefined;
  }

  #object(value: object, depth: number): void {
    if (depth >= depthLimit) {
      this.#out.text(`[too deep: ${depthLimit} levels]`);
      return;
    }
    for (let i = depth - 1; i >= 0; i--) {
      if (this.#ancestors[i] === value) {
        this.#out.text("[circular]");
        return;
      }
    }
    this.#ancestors[depth] = value;
    if (ArrayBuffer.isView(value)) {
      this.#out.binary(typeNameOf(value), bytesOf(value));
      return;
    }
    const toJson = keyed(value)["toJSON"];
    if (typeof toJson === "function" && !types.isDate(value)) {
      const json: unknown = Reflect.apply(toJson, value, [""]);
      this.#afterToJson(json, depth);
      return;
    }
    this.#withoutToJson(value, depth);
  }

  /** As in JSON.stringify, `toJSON` of what `toJSON` returned is not called. */
  #afterToJson(json: unknown, depth: number): void {
    if (typeof json === "object" && json !== null && !ArrayBuffer.isView(json)) {
      this.#withoutToJson(json, depth);
    } else {
      this.#value(json, depth);
    }
  }

  #withoutToJson(value: object, depth: number): void {
    if (Array.isArray(value)) {
      this.#array(value, depth);
      return;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) {
      this.#plain(value, depth);
    } else {
      this.#special(value, depth);
    }
  }

  #array(items: readonly unknown[], depth: number): void {
    const length = items.length;
    if (length > lengthLimit) {
      this.#out.text(`[too long: ${length} elements]`);
      return;
    }
    this.#out.tag(tag.array);
    for (let i = 0; i < length; i++) {
      let item: unknown;
      try {
        item = items[i];
      } catch (error) {
        item = `[unserializable: ${reasonOf(error)}]`;
      }
      this.#value(item, depth + 1);
    }
    this.#out.tag(tag.end);
  }

  /** Own enumerable keys in their order; a value that is `undefined` is left out with its key. */
  #plain(value: object, depth: number): void {
    const record = keyed(value);
    this.#out.tag(tag.object);
    for (const key in record) {
      if (Object.hasOwn(record, key)) {
        this.#property(record, key, depth);
      }
    }
    this.#out.tag(tag.end);
  }

  #property(record: Readonly<Record<string, unknown>>, key: string, depth: number): void {
    let item: unknown;
    try {
      item = record[key];
    } catch (error) {
      item = `[unserializable: ${reasonOf(error)}]`;
    }
    this.#entry(key, item, depth);
  }

  #entry(key: string, item: unknown, depth: number): void {
    if (item !== undefined) {
      this.#out.text(key);
      this.#value(item, depth + 1);
    }
  }

  /** Everything that is neither an array nor a plain object. */
  #special(value: object, depth: number): void {
    if (typeof value === "function") {
      this.#out.text(`[function ${value.name || "anonymous"}]`);
    } else if (types.isDate(value)) {
      const time = Date.prototype.getTime.call(value);
      this.#out.text(Number.isNaN(time) ? "[invalid date]" : new Date(time).toISOString());
    } else if (types.isMap(value)) {
      this.#map(value, depth);
    } else if (types.isSet(value)) {
      this.#array([...Set.prototype.values.call(value)], depth);
    } else if (types.isNativeError(value) || value instanceof Error) {
      this.#error(value, depth);
    } else if (types.isRegExp(value)) {
      this.#out.text(RegExp.prototype.toString.call(value));
    } else if (types.isAnyArrayBuffer(value)) {
      this.#out.binary(typeNameOf(value), new Uint8Array(value));
    } else if (types.isBoxedPrimitive(value)) {
      this.#value(value.valueOf(), depth);
    } else if (isOpaque(value)) {
      this.#out.text(`[${typeNameOf(value)}]`);
    } else if (value instanceof URLSearchParams) {
      this.#out.text(value.toString());
    } else if (value instanceof Headers) {
      this.#plain(Object.fromEntries(value), depth);
    } else {
      this.#plain(value, depth);
    }
  }

  /** An object where every key is text, else an array of pairs. */
  #map(map: ReadonlyMap<unknown, unknown>, depth: number): void {
    const entries = [...Map.prototype.entries.call(map)];
    if (entries.some(([key]) => typeof key !== "string")) {
      this.#array(entries, depth);
      return;
    }
    this.#out.tag(tag.object);
    for (const [key, item] of entries) {
      this.#entry(String(key), item, depth);
    }
    this.#out.tag(tag.end);
  }

  #error(error: Error, depth: number): void {
    this.#out.tag(tag.object);
    for (const key of errorKeys) {
      if (key in error) {
        this.#property(keyed(error), key, depth);
      }
    }
    for (const key of Object.keys(error)) {
      if (!errorKeys.includes(key)) {
        this.#property(keyed(error), key, depth);
      }
    }
    this.#out.tag(tag.end);
  }
}

const errorKeys = ["name", "message", "stack", "cause", "errors"];

/** Any object, to be read by key. */
const keyed = (value: object): Readonly<Record<string, unknown>> =>
  value as Readonly<Record<string, unknown>>;

/** Objects whose state can't be read without changing it, or at all. */
const isOpaque = (value: object): boolean =>
  types.isPromise(value) ||
  types.isWeakMap(value) ||
  types.isWeakSet(value) ||
  value instanceof WeakRef ||
  types.isGeneratorObject(value) ||
  value instanceof ReadableStream ||
  value instanceof WritableStream ||
  value instanceof Response ||
  value instanceof Request ||
  value instanceof Blob ||
  value instanceof AbortSignal ||
  (value instanceof Object && "pipe" in value && typeof value.pipe === "function");

const typeNameOf = (value: object): string =>
  Buffer.isBuffer(value)
    ? "Buffer"
    : Object.prototype.toString.call(value).slice("[object ".length, -1);

const bytesOf = (view: ArrayBufferView): Uint8Array =>
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** The message of whatever was thrown; never throws itself. */
function reasonOf(error: unknown): string {
  try {
    return (error instanceof Error ? error.message : String(error)).slice(0, 200);
  } catch {
    // What was thrown can't be read either; the marker says so.
    return "unreadable reason";
  }
}
