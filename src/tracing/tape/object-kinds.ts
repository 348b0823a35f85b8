import { types } from "node:util";

/** Changes the type of an object to `Record`, so that its properties can be read by key. */
export const asRecord = (value: object): Readonly<Record<string, unknown>> =>
  value as Readonly<Record<string, unknown>>;

/** Larger BigInts are not converted to digits: the time to do so grows with the square of the number of digits. */
const largestBigInt = 1n << 65_536n;

/** Returns the text that is recorded for a BigInt or a symbol. */
export const formatBigIntOrSymbol = (value: unknown): string =>
  typeof value === "bigint" ? formatBigInt(value) : `[${String(value)}]`;

/** Returns the value of a key, or a marker if it can't be read. */
function readValue(record: Readonly<Record<string, unknown>>, key: string): unknown {
  try {
    return record[key];
  } catch (error) {
    return `[unserializable: ${reasonOf(error)}]`;
  }
}

const errorKeys = ["name", "message", "stack", "cause", "errors"];

/** Returns the entries recorded for an error: name, message, stack, cause and errors, then its other own keys. */
export function readErrorEntries(error: Error): readonly (readonly [key: string, item: unknown])[] {
  const ownKeys = Object.keys(error).filter((key) => !errorKeys.includes(key));
  const keys = [...errorKeys.filter((key) => key in error), ...ownKeys];
  return keys.map((key) => [key, readValue(asRecord(error), key)]);
}

/** Returns the digits of a BigInt, or a marker if there are too many. */
const formatBigInt = (value: bigint): string =>
  value < largestBigInt && value > -largestBigInt
    ? String(value)
    : "[too large: BigInt of more than 65536 bits]";

/**
 * Returns the text that is recorded in place of an object such as a function, a date or a stream; `undefined` for an
 * object that is not recorded as text.
 */
export function toText(value: object): string | undefined {
  if (typeof value === "function") {
    return `[function ${nameOf(value) || "anonymous"}]`;
  }
  if (types.isDate(value)) {
    const time = Date.prototype.getTime.call(value);
    return Number.isNaN(time) ? "[invalid date]" : new Date(time).toISOString();
  }
  if (types.isRegExp(value)) {
    return RegExp.prototype.toString.call(value);
  }
  if (value instanceof URLSearchParams) {
    return value.toString();
  }
  return isOpaque(value) ? `[${opaqueNameOf(value)}]` : undefined;
}

/** Whether an object's state can't be read, or can be read only by changing the state. */
const isOpaque = (value: object): boolean =>
  types.isPromise(value) ||
  types.isWeakMap(value) ||
  types.isWeakSet(value) ||
  value instanceof WeakRef ||
  types.isGeneratorObject(value) ||
  value instanceof ReadableStream ||
  value instanceof WritableStream ||
  value instanceof TransformStream ||
  value instanceof Response ||
  value instanceof Request ||
  value instanceof Blob ||
  value instanceof AbortSignal ||
  (value instanceof Object && "pipe" in value && typeof value.pipe === "function");

/**
 * Returns the name of a built-in type, such as `Uint16Array`. A custom `Symbol.toStringTag` is cut to 32 characters.
 */
export const typeNameOf = (value: object): string =>
  Buffer.isBuffer(value)
    ? "Buffer"
    : Object.prototype.toString.call(value).slice("[object ".length, -1).slice(0, 32);

/**
 * Returns the same as {@link typeNameOf}, but the class name for an object without a built-in type, such as a Node
 * stream.
 */
function opaqueNameOf(value: object): string {
  const name = typeNameOf(value);
  return name === "Object" ? nameOf(value.constructor) || name : name;
}

/**
 * Returns a function's name; empty if it has none, or if `name` is not a string (a class may have a static method
 * `name`).
 */
function nameOf(value: object): string {
  const name = asRecord(value)["name"];
  return typeof name === "string" ? name : "";
}

/** Returns the bytes of a view, such as a typed array, without copying them. */
export const bytesOf = (view: ArrayBufferView): Uint8Array =>
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** Returns the number of elements of a Map or a Set, even if a subclass overrides `size`; 0 for any other object. */
export function sizeOf(value: object): number {
  if (types.isMap(value)) {
    return Reflect.get(Map.prototype, "size", value);
  }
  return types.isSet(value) ? Reflect.get(Set.prototype, "size", value) : 0;
}

/** Returns the result of `count`, or `fallback` if it throws, as it may for a Proxy. */
export function tryCount(count: () => number, fallback: number): number {
  try {
    return count();
  } catch {
    // The count is only shown in the marker that replaces an omitted value, so it may be inexact.
    return fallback;
  }
}

/** Returns the message of a thrown value, at most 200 characters. Never throws. */
export function reasonOf(error: unknown): string {
  try {
    return (error instanceof Error ? error.message : String(error)).slice(0, 200);
  } catch {
    // The thrown value can't be read either.
    return "unreadable reason";
  }
}
