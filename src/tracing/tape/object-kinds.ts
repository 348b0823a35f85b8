import { types } from "node:util";

/** Any object, to be read by key. */
export const keyed = (value: object): Readonly<Record<string, unknown>> =>
  value as Readonly<Record<string, unknown>>;

/** Beyond, the digits of a BigInt take longer than anyone would wait; the time grows with the square. */
const largestBigInt = 1n << 65_536n;

/** What is recorded of a BigInt or a symbol. */
export const rareText = (value: unknown): string =>
  typeof value === "bigint" ? bigIntText(value) : `[${String(value)}]`;

/** What an own key holds, or a marker where it can't be read. */
function valueAt(record: Readonly<Record<string, unknown>>, key: string): unknown {
  try {
    return record[key];
  } catch (error) {
    return `[unserializable: ${reasonOf(error)}]`;
  }
}

const errorKeys = ["name", "message", "stack", "cause", "errors"];

/** Name, message and stack of an error, then its other own keys. */
export function errorEntries(error: Error): readonly (readonly [key: string, item: unknown])[] {
  const own = Object.keys(error).filter((key) => !errorKeys.includes(key));
  const keys = [...errorKeys.filter((key) => key in error), ...own];
  return keys.map((key) => [key, valueAt(keyed(error), key)]);
}

/** Its digits, or a marker where they would be too many. */
const bigIntText = (value: bigint): string =>
  value < largestBigInt && value > -largestBigInt
    ? String(value)
    : "[too large: BigInt of more than 65536 bits]";

/** What is recorded as a text; `undefined` for any other object. */
export function textOf(value: object): string | undefined {
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

/** Objects whose state can't be read without changing it, or at all. */
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

/** The name of a built-in type, such as `Uint16Array`; at most 32 characters of one that was made up. */
export const typeNameOf = (value: object): string =>
  Buffer.isBuffer(value)
    ? "Buffer"
    : Object.prototype.toString.call(value).slice("[object ".length, -1).slice(0, 32);

/** As {@link typeNameOf}; a stream of node:stream, which is no built-in type, has its class's name. */
function opaqueNameOf(value: object): string {
  const name = typeNameOf(value);
  return name === "Object" ? nameOf(value.constructor) || name : name;
}

/** A function's name; empty where it has none, or one that is no text (a static method `name`). */
function nameOf(value: object): string {
  const name = keyed(value)["name"];
  return typeof name === "string" ? name : "";
}

export const bytesOf = (view: ArrayBufferView): Uint8Array =>
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** The real number of elements of a Map or a Set, whatever a subclass returns; 0 for any other object. */
export function sizeOf(value: object): number {
  if (types.isMap(value)) {
    return Reflect.get(Map.prototype, "size", value);
  }
  return types.isSet(value) ? Reflect.get(Set.prototype, "size", value) : 0;
}

/** What `count` answers; `fallback` where it throws, as a Proxy may. */
export function countOr(count: () => number, fallback: number): number {
  try {
    return count();
  } catch {
    // Only the number in the marker is missing then.
    return fallback;
  }
}

/** The message of whatever was thrown; never throws itself. */
export function reasonOf(error: unknown): string {
  try {
    return (error instanceof Error ? error.message : String(error)).slice(0, 200);
  } catch {
    // The thrown value can't be read either; the marker states that.
    return "unreadable reason";
  }
}
